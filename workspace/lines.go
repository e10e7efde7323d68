package workspace

import (
	"bufio"
	"context"
	"errors"
	"io"
	"strconv"

	"github.com/weir-run/weir/internal/document"
	"github.com/weir-run/weir/internal/lines"
)

// LineRange asks for the bytes of lines.
type LineRange struct {
	// Conversation is whose stored results tool-results/ are.
	Conversation string
	// Path is mount/relative/path.
	Path string
	// First and Last count from 1, both included; 0 means the first and the last that there is. A Last
	// beyond the end is the end.
	First, Last int64
	// Number puts the number and a tab before each line.
	Number bool
}

// WriteLines writes lines as they are in the file, byte for byte, as sed -n 'A,Bp' prints them: with
// their own endings, and with line 1 the mark at the start of the file. A UTF-16 file is written as
// UTF-8. A first line that the file does not have is an error that states the valid range.
func (w *Workspace) WriteLines(ctx context.Context, out io.Writer, req LineRange) error {
	d, ix, err := w.indexed(ctx, req.Conversation, req.Path, true)
	if err != nil {
		return err
	}
	defer d.close()
	first, last := max(req.First, 1), req.Last
	switch {
	case ix.Lines == 0 && first == 1:
		return nil
	case first > ix.Lines:
		return pathError(d.path, &lines.RangeError{First: first, Last: first, Lines: ix.Lines})
	case last == 0 || last > ix.Lines:
		last = ix.Lines
	}
	from, to, err := ix.Range(d.Text, first, last)
	if err != nil {
		return pathError(d.path, err)
	}
	text := d.Text
	if first == 1 && d.Form == document.Marked && !req.Number {
		text, to = d.Raw, to+d.Mark
	}
	if req.Number {
		return pathError(d.path, numbered(ctx, out, io.NewSectionReader(text, from, to-from), first, last))
	}
	return pathError(d.path, stream(ctx, out, text, from, to))
}

// stream copies bytes in pieces, so that what is long is never in memory as a whole.
func stream(ctx context.Context, out io.Writer, text io.ReaderAt, from, to int64) error {
	buf := make([]byte, min(to-from, 256<<10))
	for from < to {
		if err := ctx.Err(); err != nil {
			return err
		}
		part := buf[:min(int64(len(buf)), to-from)]
		if err := document.ReadFull(text, part, from); err != nil {
			return err
		}
		if _, err := out.Write(part); err != nil {
			return err
		}
		from += int64(len(part))
	}
	return nil
}

// numbered copies lines with their numbers.
func numbered(ctx context.Context, out io.Writer, text io.Reader, first, last int64) error {
	in, to := bufio.NewReaderSize(text, 64<<10), bufio.NewWriterSize(out, 64<<10)
	for n := first; n <= last; n++ {
		if err := ctx.Err(); err != nil {
			return err
		}
		// What a bufio.Writer refuses it tells again in Flush.
		_, _ = to.WriteString(strconv.FormatInt(n, 10) + "\t")
		for more := true; more; {
			part, err := in.ReadSlice('\n')
			_, _ = to.Write(part)
			more = errors.Is(err, bufio.ErrBufferFull)
			if err != nil && !more && !errors.Is(err, io.EOF) {
				return plain(err)
			}
		}
	}
	return to.Flush()
}
