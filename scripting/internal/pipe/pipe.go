// Package pipe is what a script process and the program that started it say to each other: frames on a
// pair of pipes, the words in them, and the script's side of the conversation.
//
// The program does not trust the process: a frame is read in pieces as it comes, so that a length that is
// only claimed costs nothing, and what is longer than the reader's bound ends the conversation.
package pipe

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
)

// Protocol is the number of this form of the conversation. Both sides must have the same.
const Protocol = 1

// Magic comes before the first frame of a script process: what a program prints before it knows that it
// is one is skipped, up to MaxNoise bytes.
const (
	Magic    = "\x00weir-script\x1e"
	MaxNoise = 64 << 10
)

// MaxFromScript is the longest frame that a script process may send, in bytes.
const MaxFromScript = 8 << 20

// MaxFromProgram is the longest frame that a script process takes, in bytes.
const MaxFromProgram = 1 << 30

// Piece is how much text a script process puts in one frame of output, in bytes.
const Piece = 64 << 10

// Kind says what a frame is.
type Kind byte

// The kinds, with who sends them and what is in them.
const (
	KindHello  Kind = iota + 1 // script: Greeting
	KindStart                  // program: Job; the text is the code
	KindPrint                  // script: the text is output
	KindCall                   // script: Request; the text is the arguments
	KindList                   // script: Request
	KindGet                    // script: Request
	KindRead                   // script: Request
	KindGrep                   // script: Request
	KindAnswer                 // program: Reply; the text is the structured view and the text
	KindValue                  // script: the text is a piece of the returned value
	KindDone                   // script: Ending
	kinds
)

// Frame is one thing that is said.
type Frame struct {
	Kind Kind
	// ID joins an answer to its request.
	ID uint32
	// Head is JSON, or nothing.
	Head json.RawMessage
	// Text is carried as it is.
	Text []byte
}

// Into reads the head.
func (f Frame) Into(v any) error {
	if err := json.Unmarshal(f.Head, v); err != nil {
		return fmt.Errorf("read the head of a frame of kind %d: %w", f.Kind, err)
	}
	return nil
}

// headerSize is the kind, the id, the length of the head and of the text.
const headerSize = 1 + 4 + 4 + 4

// Writer sends frames. It is safe for concurrent use.
type Writer struct {
	mu sync.Mutex
	w  io.Writer
}

// NewWriter sends to w.
func NewWriter(w io.Writer) *Writer { return &Writer{w: w} }

// Send sends one frame; v, unless nil, becomes its head.
func (w *Writer) Send(kind Kind, id uint32, v any, text []byte) error {
	return w.Stream(kind, id, v, text, nil, 0)
}

// Stream sends one frame whose text is prefix and then the first size bytes of r, which are never in
// memory as a whole. When they cannot be read the conversation is broken.
func (w *Writer) Stream(kind Kind, id uint32, v any, prefix []byte, r io.ReaderAt, size int64) error {
	var head []byte
	if v != nil {
		var err error
		if head, err = json.Marshal(v); err != nil {
			return fmt.Errorf("write the head of a frame of kind %d: %w", kind, err)
		}
	}
	total := int64(len(prefix)) + size
	if int64(len(head))+total > MaxFromProgram {
		return fmt.Errorf("a frame of kind %d has %d bytes: %w", kind, total, ErrLong)
	}
	b := make([]byte, headerSize, headerSize+len(head)+min(len(prefix), Piece))
	b[0] = byte(kind)
	binary.BigEndian.PutUint32(b[1:], id)
	binary.BigEndian.PutUint32(b[5:], uint32(len(head)))
	binary.BigEndian.PutUint32(b[9:], uint32(total))
	b = append(b, head...)
	joined := len(prefix) <= Piece
	if joined {
		b = append(b, prefix...)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if _, err := w.w.Write(b); err != nil {
		return err
	}
	if !joined {
		if _, err := w.w.Write(prefix); err != nil {
			return err
		}
	}
	if size == 0 {
		return nil
	}
	n, err := io.CopyBuffer(onlyWriter{w.w}, io.NewSectionReader(r, 0, size), make([]byte, min(size, Piece)))
	if err == nil && n < size {
		err = io.ErrUnexpectedEOF
	}
	return err
}

// onlyWriter hides other methods, so that copying uses the buffer that it is given.
type onlyWriter struct{ io.Writer }

// ErrLong says that a frame is over the bound of its reader; ErrFrame that there is no frame.
var (
	ErrLong  = errors.New("the frame is too long")
	ErrFrame = errors.New("what came is no frame")
)

// Reader receives frames.
type Reader struct {
	r    *bufio.Reader
	most int64
}

// NewReader receives from r frames of at most most bytes.
func NewReader(r io.Reader, most int64) *Reader {
	return &Reader{r: bufio.NewReaderSize(r, Piece), most: most}
}

// SkipToMagic skips what was printed before the first frame and gives it: a line of it may say why there is none.
func (r *Reader) SkipToMagic() (noise []byte, err error) {
	for len(noise) < MaxNoise {
		b, err := r.r.ReadByte()
		if err != nil {
			return noise, err
		}
		if noise = append(noise, b); bytes.HasSuffix(noise, []byte(Magic)) {
			return noise[:len(noise)-len(Magic)], nil
		}
	}
	return noise, ErrFrame
}

// Next receives one frame. The end between two frames is io.EOF, one within a frame
// io.ErrUnexpectedEOF.
func (r *Reader) Next() (Frame, error) {
	var h [headerSize]byte
	if _, err := io.ReadFull(r.r, h[:]); err != nil {
		return Frame{}, err
	}
	f := Frame{Kind: Kind(h[0]), ID: binary.BigEndian.Uint32(h[1:])}
	head, text := int64(binary.BigEndian.Uint32(h[5:])), int64(binary.BigEndian.Uint32(h[9:]))
	switch {
	case f.Kind == 0 || f.Kind >= kinds:
		return Frame{}, fmt.Errorf("a frame of kind %d: %w", h[0], ErrFrame)
	case head+text > r.most:
		return Frame{}, fmt.Errorf("a frame of %d bytes, at most %d are allowed: %w", head+text, r.most, ErrLong)
	}
	var err error
	if f.Head, err = r.bytes(head); err != nil {
		return Frame{}, err
	}
	f.Text, err = r.bytes(text)
	return f, err
}

// bytes reads n bytes; memory is taken as they come.
func (r *Reader) bytes(n int64) ([]byte, error) {
	if n == 0 {
		return nil, nil
	}
	if n <= Piece {
		b := make([]byte, n)
		_, err := io.ReadFull(r.r, b)
		return b, within(err)
	}
	var b bytes.Buffer
	_, err := io.CopyN(&b, r.r, n)
	return b.Bytes(), within(err)
}

// within is the error of an end that comes within a frame.
func within(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}
