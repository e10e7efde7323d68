package sqlite_test

import (
	"testing"

	"github.com/weir-run/weir/history"
	"github.com/weir-run/weir/history/historytest"
	"github.com/weir-run/weir/history/sqlite"
)

// open opens a store that is closed when the test ends.
func open(t *testing.T, dir string, cfg sqlite.Config) *sqlite.Store {
	t.Helper()
	s, err := sqlite.Open(t.Context(), dir, cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func TestSuite(t *testing.T) {
	t.Parallel()
	for name, cfg := range map[string]sqlite.Config{"full": {}, "normal": {Synchronous: sqlite.Normal, Readers: 1}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			historytest.Run(t, func(t *testing.T) history.Store { return open(t, t.TempDir(), cfg) })
		})
	}
}
