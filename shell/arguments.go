package shell

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/weir-run/weir/internal/canon"
	"github.com/weir-run/weir/tool"
)

// arguments reads the arguments of a call: the command, byte for byte as the shell is to have it, and
// its time limit.
func (r *runner) arguments(args json.RawMessage) (command string, limit time.Duration, err error) {
	if tool.Absent(args) {
		return "", 0, errors.New("command is missing")
	}
	args, replaced := canon.CleanJSON(args)
	if replaced > 0 {
		return "", 0, errors.New("the arguments hold what is no character (half of a surrogate pair, or bytes that are not UTF-8), so another command would be run; write it in another way, such as with printf and octal escapes")
	}
	var in struct {
		Command *string         `json:"command"`
		Timeout json.RawMessage `json:"timeout_ms"`
	}
	d := json.NewDecoder(bytes.NewReader(args))
	d.DisallowUnknownFields()
	if err := d.Decode(&in); err != nil {
		return "", 0, fmt.Errorf("the arguments do not fit: %w", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return "", 0, errors.New("something follows the JSON object of the arguments")
	}
	if limit, err = r.limit(in.Timeout); err != nil {
		return "", 0, err
	}
	switch {
	case in.Command == nil:
		return "", 0, errors.New("command is missing")
	case strings.TrimSpace(*in.Command) == "":
		return "", 0, errors.New("command is empty")
	case strings.ContainsRune(*in.Command, 0):
		return "", 0, errors.New(`command holds a NUL character, which no command can; in a file or a pipe printf '\000' makes one`)
	case len(*in.Command) > MaxCommand:
		return "", 0, fmt.Errorf("command has %d bytes, at most %d are allowed; write it to a file and run that", len(*in.Command), MaxCommand)
	}
	return *in.Command, limit, nil
}

// limit reads the time limit: a whole number of milliseconds, also one written as a string of digits.
func (r *runner) limit(raw json.RawMessage) (time.Duration, error) {
	if raw == nil {
		return r.cfg.Timeout, nil
	}
	most := r.cfg.MaxTimeout.Milliseconds()
	text := string(raw)
	if strings.HasPrefix(text, `"`) {
		if json.Unmarshal(raw, &text) != nil || strings.Trim(text, "0123456789") != "" {
			text = ""
		}
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if f, ferr := strconv.ParseFloat(text, 64); err != nil && ferr == nil && f == math.Trunc(f) && math.Abs(f) <= 1<<53 {
		n, err = int64(f), nil // 2e3 and 2000.0 are whole numbers too
	}
	if err != nil || n < 1 || n > most {
		return 0, fmt.Errorf("timeout_ms must be a whole number of milliseconds from 1 to %d, or left out for %d; got %s",
			most, r.cfg.Timeout.Milliseconds(), excerpt(raw))
	}
	return time.Duration(n) * time.Millisecond, nil
}

// excerpt shows a value in an error.
func excerpt(raw []byte) string {
	const most = 60
	if short := []rune(string(raw)); len(short) > most {
		return string(short[:most]) + "…"
	}
	return string(raw)
}

// example is a right call for errors.
func (r *runner) example() string {
	return fmt.Sprintf(`{"command":"go test ./...","timeout_ms":%d}`, min(60_000, r.cfg.MaxTimeout.Milliseconds()))
}
