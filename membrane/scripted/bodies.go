package scripted

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
)

// bodies keeps each body that was received in a file of its own, numbered from 001.json on.
type bodies struct {
	dir  string
	mu   sync.Mutex
	next int // 0 until the folder was looked at
}

// keep writes a body under the next free number. The file appears under its name whole or not at all,
// and never replaces another: several processes may write to one folder.
func (b *bodies) keep(body []byte) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.next == 0 {
		if err := os.MkdirAll(b.dir, 0o755); err != nil {
			return fmt.Errorf("keep the request: %w", err)
		}
		last, err := lastBody(b.dir)
		if err != nil {
			return fmt.Errorf("keep the request: %w", err)
		}
		b.next = last + 1
	}
	temp, err := written(b.dir, body)
	if err != nil {
		return fmt.Errorf("keep the request: %w", err)
	}
	defer func() { _ = os.Remove(temp) }() // its bytes have their name by then
	for {
		err := os.Link(temp, filepath.Join(b.dir, fmt.Sprintf("%03d.json", b.next)))
		if err != nil && !errors.Is(err, fs.ErrExist) {
			return fmt.Errorf("keep the request: %w", err)
		}
		b.next++
		if err == nil {
			return nil
		}
	}
}

// written puts a body into a temporary file of the folder.
func written(dir string, body []byte) (path string, err error) {
	f, err := os.CreateTemp(dir, ".body-*")
	if err != nil {
		return "", err
	}
	_, err = f.Write(body)
	if err = errors.Join(err, f.Chmod(0o644), f.Close()); err != nil {
		return "", errors.Join(err, os.Remove(f.Name()))
	}
	return f.Name(), nil
}

// lastBody gives the highest number that is taken, 0 for none.
func lastBody(dir string) (int, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return 0, err
	}
	last := 0
	for _, e := range entries {
		number, ok := strings.CutSuffix(e.Name(), ".json")
		if n, err := strconv.Atoi(number); ok && err == nil {
			last = max(last, n)
		}
	}
	return last, nil
}
