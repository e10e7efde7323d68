package spill

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"sync"
	"unicode/utf8"

	"github.com/weir-run/weir/internal/canon"
)

// chunk is how much is decoded or read at once.
const chunk = 64 << 10

var (
	errFinished = errors.New("write to the spool: the output has ended")
	errNoStore  = errors.New("nothing keeps results here")
)

// Spool takes the output of a tool as it is produced and needs memory for the cap, not for the output.
// Up to the cap the text is held; past it the whole goes to a file and only both ends are held. The output
// is decoded as UTF-8, or as UTF-16 where it begins with that byte order mark; a character that is split
// between two writes is put together, a byte order mark is taken off, what is not text becomes U+FFFD.
// Where the text is not the bytes that came, those are kept beside it.
//
// A store that fails does not fail the tool: the output goes on being measured, both ends are held, and
// [Spooled] says why the rest is not there. A spool is safe for concurrent use.
type Spool struct {
	mu     sync.Mutex
	limit  int
	create func(ext string) (Writer, error)
	ended  bool
	dec    decoder

	bytes, chars, newlines int64
	last                   byte
	json                   synopsis

	held bool   // the whole text is held, in text
	text []byte // then
	head string // the first limit characters, when it is not
	tail []byte // at least the last limit characters, when it is not

	differs bool     // the text is not the bytes that came
	came    []byte   // these bytes, while the text is held and differs
	file    keptText // the text, when it is not held
	raw     keptText // the bytes that came, when the text is not held and differs
}

// keptText is a file that is written until it fails.
type keptText struct {
	w   Writer
	err error
}

func (k *keptText) begin(w Writer, err error) { k.w, k.err = w, err }

func (k *keptText) write(p []byte) {
	if k.w == nil || k.err != nil {
		return
	}
	if _, k.err = k.w.Write(p); k.err != nil {
		k.abort() // at once: a disk that is full gets its room back
	}
}

func (k *keptText) abort() {
	if k.w != nil {
		_ = k.w.Abort() // a sweep takes what stays behind
	}
	k.w = nil
}

func (k *keptText) commit() (*Ref, error) {
	if k.err != nil {
		return nil, k.err
	}
	ref, err := k.w.Commit()
	if err != nil {
		return nil, err
	}
	return &ref, nil
}

// NewSpool returns a spool for a text of which up to limit characters are held (at least 1). create begins
// a file with the given extension, ".txt" or ".raw"; it is called at most once for each, and not before it
// is needed. A nil create keeps nothing.
func NewSpool(limit int, create func(ext string) (Writer, error)) *Spool {
	if create == nil {
		create = func(string) (Writer, error) { return nil, errNoStore }
	}
	return &Spool{limit: max(limit, 1), create: create, held: true}
}

// Spooled is what a spool took.
type Spooled struct {
	// Excerpt is the text: the whole while it is at most the limit, else both ends.
	Excerpt Excerpt
	// Ref is the file with the whole text; nil when the text is held or could not be kept.
	Ref *Ref
	// Err says why a text over the limit was not kept; nil otherwise. [Reason] words it.
	Err error
	// Raw is the file with the bytes as they came, when the text is not the same; nil when it is, or when
	// they could not be kept. RawErr says why not.
	Raw    *Ref
	RawErr error
	// Replaced counts the U+FFFD that stand for bytes that were not text. When it is not 0 the text ends
	// with the line of [RawNote].
	Replaced int64
}

// Write takes bytes of output. It takes all of them, until the spool has ended.
func (s *Spool) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return 0, errFinished
	}
	for part := range slices.Chunk(p, chunk) {
		s.take(s.dec.next(part, false))
	}
	return len(p), nil
}

// Chars is how many characters were written so far; one that is not complete yet does not count.
func (s *Spool) Chars() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.chars
}

// Finish ends the output with tail, which stands behind it as it is, and publishes what was kept. A second
// call returns an empty [Spooled]. It does not fail: what went wrong is in Err and RawErr.
func (s *Spool) Finish(tail string) Spooled {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return Spooled{}
	}
	s.take(s.dec.next(nil, true))
	s.ended = true
	clean, _ := canon.CleanUTF8(tail)
	s.put([]byte(clean))
	out := Spooled{Replaced: s.dec.replaced}
	if s.differs {
		if s.held {
			s.beginRaw(s.came)
		}
		out.Raw, out.RawErr = s.raw.commit()
	}
	if out.Replaced > 0 {
		note := ""
		if s.bytes > 0 && s.last != '\n' {
			note = "\n"
		}
		path := ""
		if out.Raw != nil {
			path = out.Raw.Path()
		}
		s.differs = false // the raw original is published; what follows is text alone
		s.put([]byte(note + RawNote(out.Replaced, path, Reason(out.RawErr))))
	}
	out.Excerpt = s.excerpt()
	if !s.held {
		out.Ref, out.Err = s.file.commit()
	}
	s.drop()
	return out
}

// Abort throws away what was taken.
func (s *Spool) Abort() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return
	}
	s.ended = true
	s.file.abort()
	s.raw.abort()
	s.drop()
}

func (s *Spool) drop() { s.text, s.tail, s.came = nil, nil, nil }

// take takes decoded text and the bytes it was decoded from.
func (s *Spool) take(came, text []byte, same bool) {
	if !same && !s.differs {
		s.differs = true
		if s.held {
			s.came = bytes.Clone(s.text)
		} else {
			s.beginRaw(nil)
			s.copyBack()
		}
	}
	if s.differs && s.held {
		s.came = append(s.came, came...)
	} else if s.differs {
		s.raw.write(came)
	}
	s.put(text)
}

func (s *Spool) beginRaw(p []byte) {
	s.raw.begin(s.create(rawExt))
	s.raw.write(p)
}

// copyBack begins the raw original with what the text holds so far: up to here they are the same.
func (s *Spool) copyBack() {
	if s.file.err != nil {
		s.raw.abort()
		s.raw.err = s.file.err
		return
	}
	r := io.NewSectionReader(s.file.w, 0, s.bytes)
	buf := make([]byte, chunk)
	for at := int64(0); at < s.bytes && s.raw.err == nil; {
		n, err := r.Read(buf)
		s.raw.write(buf[:n])
		if at += int64(n); err != nil && at < s.bytes {
			s.raw.abort()
			s.raw.err = err
		}
	}
}

// put adds text, which is valid UTF-8.
func (s *Spool) put(p []byte) {
	if len(p) == 0 {
		return
	}
	s.bytes += int64(len(p))
	s.chars += int64(utf8.RuneCount(p))
	s.newlines += int64(bytes.Count(p, []byte{'\n'}))
	s.last = p[len(p)-1]
	s.json.write(p)
	if !s.held {
		s.file.write(p)
		s.tail = append(s.tail, p...)
		if len(s.tail) > 2*utf8.UTFMax*s.limit+chunk {
			s.tail = append(s.tail[:0], s.tail[lastChars(s.tail, s.limit):]...)
		}
		return
	}
	s.text = append(s.text, p...)
	if s.chars <= int64(s.limit) {
		return
	}
	s.held = false
	s.head = firstChars(string(s.text), s.limit)
	s.file.begin(s.create(textExt))
	s.file.write(s.text)
	if s.differs {
		s.beginRaw(s.came)
		s.came = nil
	}
	s.tail, s.text = s.text, nil
}

// excerpt describes what was taken.
func (s *Spool) excerpt() Excerpt {
	x := Excerpt{Bytes: s.bytes, Lines: s.newlines, Chars: s.chars, JSON: s.json.line()}
	if s.bytes > 0 && s.last != '\n' {
		x.Lines++
	}
	if s.held {
		x.Head = string(s.text)
	} else {
		x.Head, x.Tail = s.head, string(s.tail[lastChars(s.tail, s.limit):])
	}
	return x
}

// lastChars returns where the last n characters of valid UTF-8 begin.
func lastChars(p []byte, n int) int {
	at := len(p)
	for ; n > 0 && at > 0; n-- {
		at--
		for at > 0 && !utf8.RuneStart(p[at]) {
			at--
		}
	}
	return at
}
