package holder_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/gofrs/flock"
	"github.com/google/uuid"

	"github.com/weir-run/weir/history/sqlite/internal/holder"
)

func names(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, e := range entries {
		out = append(out, e.Name())
	}
	return out
}

func TestHolder(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "holders")
	a, b := holder.New(dir), holder.New(dir)
	if _, err := os.Stat(dir); err == nil || a.ID() != "" {
		t.Error("a new holder has made its folder or has a name")
	}
	id, err := a.Ensure()
	if err != nil || uuid.Validate(id) != nil {
		t.Fatalf("Ensure = %q, %v, want a UUID", id, err)
	}
	if again, err := a.Ensure(); err != nil || again != id || a.ID() != id {
		t.Errorf("Ensure again = %q, %v, and ID %q, want %q", again, err, a.ID(), id)
	}
	for name, h := range map[string]*holder.Holder{"itself": a, "another": b} {
		if live, ours, err := h.Alive(id); !live || !ours || err != nil {
			t.Errorf("Alive by %s = %t, ours %t, %v, want both", name, live, ours, err)
		}
	}
	if err := a.Release(); err != nil {
		t.Fatal(err)
	}
	if live, _, err := b.Alive(id); live || err != nil {
		t.Errorf("Alive after Release = %t, %v", live, err)
	}
	if got := names(t, dir); len(got) != 0 {
		t.Errorf("the folder has %v, want nothing", got)
	}
	if _, err := a.Ensure(); !errors.Is(err, holder.ErrReleased) {
		t.Errorf("Ensure after Release: %v, want ErrReleased", err)
	}
}

// A file that nobody holds is a dead one's and goes, with the look at it or with the next holder. Files of
// another shape stay.
func TestDeadHolders(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	dead, buried, locked := uuid.NewString(), uuid.NewString(), uuid.NewString()
	for _, name := range []string{dead, buried, locked, "notes.txt"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("1 elsewhere\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	other := flock.New(filepath.Join(dir, locked))
	if ok, err := other.TryLock(); !ok || err != nil {
		t.Fatal(ok, err)
	}
	defer other.Unlock()
	h := holder.New(dir)
	if live, _, err := h.Alive(dead); live || err != nil {
		t.Errorf("a file that nobody holds: alive %t, %v", live, err)
	}
	if live, ours, err := h.Alive(locked); !live || ours || err != nil {
		t.Errorf("a file that another process holds: alive %t, ours %t, %v", live, ours, err)
	}
	if got := names(t, dir); len(got) != 3 {
		t.Errorf("the folder has %v, want the dead one's file gone", got)
	}
	id, err := h.Ensure()
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]bool{id: true, locked: true, "notes.txt": true}
	for _, name := range names(t, dir) {
		if !want[name] {
			t.Errorf("%s is still there", name)
		}
		delete(want, name)
	}
	if len(want) != 0 {
		t.Errorf("gone: %v", want)
	}
}

// A name from a hostile database leads nowhere.
func TestNamesThatNoHolderHas(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	secret := filepath.Join(filepath.Dir(dir), "secret")
	if err := os.WriteFile(secret, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Remove(secret) })
	h := holder.New(dir)
	u := uuid.NewString()
	for _, id := range []string{"../secret", "", ".", "x", "{" + u + "}", "urn:uuid:" + u, u + "/..", "\x00"} {
		if live, _, err := h.Alive(id); live || err != nil {
			t.Errorf("%q: alive %t, %v", id, live, err)
		}
	}
	if _, err := os.Stat(secret); err != nil {
		t.Error(err)
	}
}
