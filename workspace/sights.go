package workspace

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/weir-run/weir/history"
	"github.com/weir-run/weir/internal/document"
)

// Stamp is what a file was when it was looked at.
type Stamp struct {
	// Bytes is its length, Changed when it changed last.
	Bytes   int64
	Changed time.Time
	// Sum is the SHA-256 of its bytes; zeros where nobody made it.
	Sum [32]byte
	// Result is the id of the result that showed it, such as r3-1; empty is nobody.
	Result string
}

// same compares two stamps: by their hashes where both have one, else by length and time.
func (s Stamp) same(o Stamp) bool {
	if none := [32]byte{}; s.Sum != none && o.Sum != none {
		return s.Sum == o.Sum
	}
	return s.Bytes == o.Bytes && s.Changed.Equal(o.Changed)
}

// Reads remembers what conversations last saw of files, so that one which changed since is told to have
// changed, and is not written over.
type Reads interface {
	// Seen gives what a conversation last saw of a path; false when it saw nothing.
	Seen(ctx context.Context, conversation, path string) (Stamp, bool, error)
	// Note keeps what a conversation has just seen. When it fails, the workspace remembers for itself.
	Note(ctx context.Context, conversation, path string, s Stamp) error
}

// Sights remembers in a store what conversations saw, so that it outlives the process.
func Sights(rows history.Sights) Reads { return stored{rows} }

type stored struct{ rows history.Sights }

func (s stored) Seen(ctx context.Context, conversation, path string) (Stamp, bool, error) {
	seen, err := s.rows.SeenOf(ctx, conversation, path)
	switch {
	case errors.Is(err, history.ErrNotFound):
		return Stamp{}, false, nil
	case err != nil:
		return Stamp{}, false, err
	}
	out := Stamp{Bytes: seen.Size, Changed: seen.Changed, Sum: seen.SHA256}
	if seen.By != (history.CallID{}) {
		out.Result = seen.By.String()
	}
	return out, true, nil
}

func (s stored) Note(ctx context.Context, conversation, path string, st Stamp) error {
	seen := history.Seen{Path: path, Size: st.Bytes, Changed: st.Changed, SHA256: st.Sum}
	if st.Result != "" {
		var err error
		if seen.By, err = history.ParseCallID(st.Result); err != nil {
			return err
		}
	}
	return s.rows.PutSeen(ctx, conversation, seen)
}

// remembered is how many stamps [memory] holds.
const remembered = 10_000

// memory is the Reads of one workspace: what it holds is gone with the process. The oldest goes first.
type memory struct {
	mu     sync.Mutex
	stamps map[[2]string]Stamp
	order  [][2]string
}

func newMemory() *memory { return &memory{stamps: map[[2]string]Stamp{}} }

func (m *memory) Seen(_ context.Context, conversation, path string) (Stamp, bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	s, ok := m.stamps[[2]string{conversation, path}]
	return s, ok, nil
}

func (m *memory) Note(_ context.Context, conversation, path string, s Stamp) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	key := [2]string{conversation, path}
	if _, ok := m.stamps[key]; !ok {
		m.order = append(m.order, key)
	}
	m.stamps[key] = s
	if len(m.order) > remembered {
		delete(m.stamps, m.order[0])
		m.order = m.order[1:]
	}
	return nil
}

// saw is who looks at a file: the conversation, and the result that will show it.
type saw struct{ conversation, result string }

// round is the round that the result belongs to; empty for an inner call and for nobody.
func (s saw) round() string {
	if strings.Contains(s.result, ".") {
		return ""
	}
	round, _, _ := strings.Cut(s.result, "-")
	return round
}

// sights is what a workspace does with [Reads].
type sights struct {
	reads Reads
	log   *slog.Logger
	// own is what could not be kept in reads; an empty stamp there says that reads has it.
	own *memory
	// before is what had been seen before the round in which a file was seen last. The calls of a round run
	// side by side: each of them says what changed since the rounds before, whichever comes first.
	before *memory
}

func newSights(reads Reads, log *slog.Logger) *sights {
	s := &sights{reads: reads, log: log, own: newMemory(), before: newMemory()}
	if s.reads == nil {
		s.reads = newMemory()
	}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	return s
}

// seen is what a conversation last saw.
func (s *sights) seen(ctx context.Context, conversation, path string) (Stamp, bool, error) {
	if st, ok, _ := s.own.Seen(ctx, conversation, path); ok && st != (Stamp{}) {
		return st, true, nil
	}
	return s.reads.Seen(ctx, conversation, path)
}

// drifted reports whether a file is not what the conversation saw before this round, and which result showed
// it then. Where that cannot be looked up, nothing is said.
func (s *sights) drifted(ctx context.Context, who saw, path string, now Stamp) (changed bool, since string) {
	if who.conversation == "" {
		return false, ""
	}
	last, ok, err := s.seen(ctx, who.conversation, path)
	if err != nil {
		s.log.Warn("look up what was last seen of a file", "conversation", who.conversation, "path", path, "error", err)
		return false, ""
	}
	if round := who.round(); round != "" {
		key := who.conversation + "/" + round
		if ok && (saw{result: last.Result}).round() == round {
			last, ok, _ = s.before.Seen(ctx, key, path)
		} else if ok {
			_ = s.before.Note(ctx, key, path, last)
		}
	}
	if !ok || last.Result != "" && last.Result == who.result || last.same(now) {
		return false, ""
	}
	return true, last.Result
}

// note keeps what a conversation has just seen of a file. Nothing fails for it.
func (s *sights) note(ctx context.Context, who saw, path string, now Stamp) {
	if who.conversation == "" {
		return
	}
	now.Result = who.result
	kept := Stamp{}
	if err := s.reads.Note(ctx, who.conversation, path, now); err != nil {
		s.log.Warn("keep what was seen of a file", "conversation", who.conversation, "path", path, "error", err)
		kept = now
	}
	if _, ok, _ := s.own.Seen(ctx, who.conversation, path); ok || kept != (Stamp{}) {
		_ = s.own.Note(ctx, who.conversation, path, kept)
	}
}

// wrote keeps what a conversation itself made of a file: no later call of the round finds it changed.
func (s *sights) wrote(ctx context.Context, who saw, path string, now Stamp) {
	s.note(ctx, who, path, now)
	if round := who.round(); round != "" {
		now.Result = who.result
		_ = s.before.Note(ctx, who.conversation+"/"+round, path, now)
	}
}

// fresh refuses a file that changed since the conversation last saw it. The hash of the file that is there
// is made by sum, when it is needed.
func (s *sights) fresh(ctx context.Context, conversation, path string, now Stamp, sum func(context.Context, int64) ([32]byte, error)) error {
	if conversation == "" {
		return nil
	}
	seen, ok, err := s.seen(ctx, conversation, path)
	if err != nil || !ok {
		return err
	}
	if sum != nil && seen.Bytes == now.Bytes && now.Bytes <= MaxFile && seen.Sum != ([32]byte{}) {
		if now.Sum, err = sum(ctx, now.Bytes); err != nil {
			return fmt.Errorf("compare it with what was read: %w", err)
		}
	}
	if !seen.same(now) {
		return errors.New("it changed on the disk since this conversation last read it: read it again first")
	}
	return nil
}

// sum is the hash of the file at a place.
func (at place) sum(ctx context.Context, size int64) ([32]byte, error) {
	raw, _, err := at.mount.File(at.name)
	if err != nil {
		return [32]byte{}, err
	}
	defer func() { _ = raw.Close() }() // only read from
	return document.Sum(ctx, raw, size)
}
