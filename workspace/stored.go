package workspace

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/weir-run/weir/history"
	"github.com/weir-run/weir/internal/folder"
	"github.com/weir-run/weir/internal/lines"
	"github.com/weir-run/weir/spill"
)

// Stored serves the stored results of conversations under tool-results/. [Results] is the one over a
// history.
type Stored interface {
	// List gives everything that is stored for a conversation, results in call order, each followed by
	// its payloads. A conversation that is not there has nothing.
	List(ctx context.Context, conversation string) ([]StoredEntry, error)
	// Open opens an entry by its name, or the text of a result by the result's id. What is not there is
	// an error for which errors.Is(err, fs.ErrNotExist) holds.
	Open(ctx context.Context, conversation, name string) (*StoredFile, error)
}

// StoredEntry is one stored result, or a payload kept beside one.
type StoredEntry struct {
	// Name is the name below tool-results/, such as "r3-1-grep.txt".
	Name string
	// Result is the id of the result, such as "r3-1", and Tool the tool that was called.
	Result, Tool string
	// Payload says that it is a file kept beside the text, such as an image.
	Payload bool
	IsError bool
	// Bytes is the length; Lines and Chars are those of a text.
	Bytes, Lines, Chars int64
	// At is when the result came; zero when nobody knows.
	At time.Time
}

// StoredFile is a stored result, open for reading.
type StoredFile struct {
	StoredEntry
	io.ReaderAt
	io.Closer
	// Index is the text's index where it was stored with it; nil for an inline text and a payload.
	Index *lines.Index
}

// openStored opens a stored result as text.
func (w *Workspace) openStored(ctx context.Context, conversation string, at place, asText bool) (*file, error) {
	if at.name == "." {
		return nil, &PathError{at.path, folder.ErrIsFolder}
	}
	s, err := w.stored.Open(ctx, conversation, at.name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, &PathError{at.path, &reason{"there is no such stored result; results--list shows which there are", err}}
	}
	if err != nil {
		return nil, pathError(at.path, err)
	}
	// A result's text is always served as text; a payload may be an image.
	f, err := newFile(spill.Mount+"/"+s.Name, s.ReaderAt, s.Bytes, s.Closer, asText || !s.Payload)
	if err != nil {
		return nil, err
	}
	if f.known = s.Index; s.Index != nil || s.Payload {
		// An inline text has no key: its index costs less than keeping it.
		f.key = spill.Mount + "/" + conversation + "/" + s.Name
	}
	return f, nil
}

// Rows is what [Results] reads of a history; a history.Store has it.
type Rows interface {
	// CallsOf lists the calls of a conversation in call order; the round is always 0, which means all.
	CallsOf(ctx context.Context, conversation string, round int) ([]history.Call, error)
	// ResultsOf lists the results of a conversation without their bodies, in call order; the round is
	// always 0. history.ErrNotFound means that there is no such conversation.
	ResultsOf(ctx context.Context, conversation string, round int) ([]history.Result, error)
	// ResultOf reads one result with its bodies; history.ErrNotFound.
	ResultOf(ctx context.Context, conversation string, id history.CallID) (history.Result, error)
	// SpillsOf lists the files kept for a conversation, by name.
	SpillsOf(ctx context.Context, conversation string) ([]spill.Ref, error)
}

// Results serves every result of a history by its row, whether its text lies in the row or in a file,
// and every payload that was kept beside one.
func Results(rows Rows, files spill.Store) Stored { return &results{rows: rows, files: files} }

type results struct {
	rows  Rows
	files spill.Store
	// sound are the files whose hash was checked.
	sound sync.Map
}

func (s *results) List(ctx context.Context, conversation string) ([]StoredEntry, error) {
	rows, err := s.rows.ResultsOf(ctx, conversation, 0)
	if errors.Is(err, history.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list the results of %s: %w", conversation, err)
	}
	calls, err := s.rows.CallsOf(ctx, conversation, 0)
	if err != nil {
		return nil, fmt.Errorf("list the calls of %s: %w", conversation, err)
	}
	refs, err := s.rows.SpillsOf(ctx, conversation)
	if err != nil {
		return nil, fmt.Errorf("list the kept files of %s: %w", conversation, err)
	}
	at := make(map[history.CallID]time.Time, len(calls))
	for _, c := range calls {
		at[c.ID] = c.Settled
	}
	payloads := map[string][]spill.Ref{} // by the id of their result
	for _, r := range refs {
		id := resultID(r.Name)
		payloads[id] = append(payloads[id], r)
	}
	var out []StoredEntry
	for _, r := range rows {
		e, err := entryOf(r, at[r.ID])
		if err != nil {
			return nil, err
		}
		out = append(out, e)
		for _, p := range payloads[e.Result] {
			if p.Name != e.Name {
				out = append(out, payloadOf(e, p))
			}
		}
	}
	return out, nil
}

// entryOf describes a result's text. One that lies in its row has the name that its file would have.
func entryOf(r history.Result, at time.Time) (StoredEntry, error) {
	e := StoredEntry{
		Result: r.ID.String(), Tool: r.Tool, IsError: r.IsError, Bytes: r.Bytes, Lines: r.Lines, Chars: r.Chars, At: at,
	}
	if r.Spill != nil {
		e.Name = r.Spill.Name
		return e, nil
	}
	var err error
	e.Name, err = spill.Name{Result: e.Result, Tool: r.Tool}.Base()
	return e, err
}

func payloadOf(e StoredEntry, ref spill.Ref) StoredEntry {
	return StoredEntry{
		Name: ref.Name, Result: e.Result, Tool: e.Tool, At: e.At, Payload: true, Bytes: ref.Index.Bytes,
	}
}

// idShape is how a result's id begins a name.
var idShape = regexp.MustCompile(`^r[1-9][0-9]*-[1-9][0-9]*(\.[1-9][0-9]*)*`)

// resultID returns the id of the result that a name belongs to; empty when it is no such name.
func resultID(name string) string { return idShape.FindString(name) }

func (s *results) Open(ctx context.Context, conversation, name string) (*StoredFile, error) {
	missing := fmt.Errorf("stored result %.80q: %w", name, fs.ErrNotExist)
	id, err := history.ParseCallID(resultID(name))
	if err != nil {
		return nil, missing
	}
	r, err := s.rows.ResultOf(ctx, conversation, id)
	if errors.Is(err, history.ErrNotFound) {
		return nil, missing
	}
	if err != nil {
		return nil, fmt.Errorf("read stored result %s: %w", id, err)
	}
	e, err := entryOf(r, time.Time{})
	if err != nil {
		return nil, err
	}
	if name != e.Name && name != e.Result && name != e.Result+path.Ext(e.Name) {
		return s.payload(ctx, conversation, name, e, missing)
	}
	if r.Spill == nil {
		return &StoredFile{StoredEntry: e, ReaderAt: bytes.NewReader(r.Whole), Closer: io.NopCloser(nil)}, nil
	}
	f, err := s.file(ctx, *r.Spill)
	if err != nil {
		return nil, err
	}
	ix := r.Spill.Index
	return &StoredFile{StoredEntry: e, ReaderAt: f, Closer: f, Index: &ix}, nil
}

// payload opens a file that was kept beside a text.
func (s *results) payload(ctx context.Context, conversation, name string, e StoredEntry, missing error) (*StoredFile, error) {
	refs, err := s.rows.SpillsOf(ctx, conversation)
	if err != nil {
		return nil, fmt.Errorf("list the kept files of %s: %w", conversation, err)
	}
	i := slices.IndexFunc(refs, func(r spill.Ref) bool { return r.Name == name })
	if i < 0 {
		return nil, missing
	}
	f, err := s.file(ctx, refs[i])
	if err != nil {
		return nil, err
	}
	e = payloadOf(e, refs[i])
	// The raw original of a text is a text.
	e.Payload = !strings.HasSuffix(name, ".raw")
	return &StoredFile{StoredEntry: e, ReaderAt: f, Closer: f}, nil
}

// file opens a kept file; one that is gone, or not as long as its row says, is an error that says so.
func (s *results) file(ctx context.Context, ref spill.Ref) (spill.File, error) {
	f, err := s.files.Open(ctx, ref.File)
	if errors.Is(err, spill.ErrNotFound) {
		return nil, errors.New("the history has this result, but its file is gone from the disk")
	}
	if err != nil {
		return nil, err
	}
	if f.Size() != ref.Index.Bytes {
		return nil, errors.Join(fmt.Errorf("its file has %d bytes, but %d were stored: it was changed on the disk",
			f.Size(), ref.Index.Bytes), f.Close())
	}
	if err := s.digest(ref, f); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// maxDigest is the largest kept file in bytes whose hash is checked before it is read: a window of a larger
// one costs what the window costs, and history.Verify checks the whole.
const maxDigest = 8 << 20

// digest checks a kept file against its row, once in the life of this value.
func (s *results) digest(ref spill.Ref, f spill.File) error {
	if f.Size() > maxDigest {
		return nil
	}
	if _, known := s.sound.Load(ref.File); known {
		return nil
	}
	h := sha256.New()
	if _, err := io.Copy(h, io.NewSectionReader(f, 0, f.Size())); err != nil {
		return err
	}
	if [32]byte(h.Sum(nil)) != ref.SHA256 {
		return errors.New("its file is not what was stored: it was changed on the disk")
	}
	s.sound.Store(ref.File, true)
	return nil
}
