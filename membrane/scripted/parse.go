package scripted

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/weir-run/weir/membrane"
)

// MaxScript is the largest script in bytes that [Load] reads.
const MaxScript = 16 << 20

// Load reads a script from a file; its name is the base name of the file.
func Load(path string) (Script, error) {
	f, err := os.Open(path)
	if err != nil {
		return Script{}, fmt.Errorf("read script: %w", err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, MaxScript+1))
	if err != nil {
		return Script{}, fmt.Errorf("read script %s: %w", path, err)
	}
	if len(data) > MaxScript {
		return Script{}, fmt.Errorf("read script %s: it is longer than %d bytes", path, MaxScript)
	}
	return Parse(filepath.Base(path), data)
}

// Parse reads a script and checks it. Members that a script does not have are refused; an error names
// the script and the step.
func Parse(name string, data []byte) (Script, error) {
	s := Script{Name: name}
	var file struct {
		Steps    []json.RawMessage `json:"steps"`
		AfterEnd AfterEnd          `json:"after_end"`
	}
	if err := strict(data, &file); err != nil {
		return Script{}, fmt.Errorf("%s: %w", s.name(), inLine(data, err))
	}
	s.AfterEnd = file.AfterEnd
	for i, raw := range file.Steps {
		step, err := parseStep(raw)
		if err != nil {
			return Script{}, fmt.Errorf("%s: step %d: %w", s.name(), i+1, err)
		}
		s.Steps = append(s.Steps, step)
	}
	return s, s.Check()
}

// strict decodes exactly one JSON value and refuses members that into does not have.
func strict(data []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("something follows the JSON value")
	}
	return nil
}

// inLine adds the line to a syntax error.
func inLine(data []byte, err error) error {
	var syntax *json.SyntaxError
	if !errors.As(err, &syntax) {
		return err
	}
	at := min(max(int(syntax.Offset), 0), len(data))
	return fmt.Errorf("line %d: %w", 1+bytes.Count(data[:at], []byte("\n")), err)
}

// passage is a text that may be written as an array of lines.
type passage string

// UnmarshalJSON takes a string or an array of strings.
func (p *passage) UnmarshalJSON(raw []byte) error {
	var lines []string
	if len(raw) > 0 && raw[0] == '[' {
		if err := json.Unmarshal(raw, &lines); err != nil {
			return err
		}
		*p = passage(strings.Join(lines, "\n"))
		return nil
	}
	var text string
	err := json.Unmarshal(raw, &text)
	*p = passage(text)
	return err
}

// stepFile is a step as it stands in a file.
type stepFile struct {
	Text     passage       `json:"text"`
	Thinking passage       `json:"thinking"`
	Calls    []callFile    `json:"calls"`
	Stop     membrane.Stop `json:"stop"`
	Usage    *struct {
		In         int64 `json:"in"`
		Out        int64 `json:"out"`
		CacheRead  int64 `json:"cache_read"`
		CacheWrite int64 `json:"cache_write"`
	} `json:"usage"`
	Expect []Expect `json:"expect"`
	Error  *struct {
		Kind        membrane.Kind `json:"kind"`
		Text        string        `json:"text"`
		Status      int           `json:"status"`
		RetryMS     int64         `json:"retry_after_ms"`
		Times       int           `json:"times"`
		AfterChunks int           `json:"after_chunks"`
	} `json:"error"`
	DelayMS int64 `json:"delay_ms"`
	Stall   bool  `json:"stall"`
}

type callFile struct {
	ID       string          `json:"id"`
	Name     string          `json:"name"`
	Args     json.RawMessage `json:"args"`
	ArgsText *string         `json:"args_text"`
}

func parseStep(raw []byte) (Step, error) {
	var in stepFile
	if err := strict(raw, &in); err != nil {
		return Step{}, err
	}
	s := Step{
		Text: string(in.Text), Thinking: string(in.Thinking), Stop: in.Stop, Expect: in.Expect,
		Delay: millis(in.DelayMS), Stall: in.Stall,
	}
	for i, c := range in.Calls {
		call := Call{ID: c.ID, Tool: c.Name, Args: c.Args}
		if c.ArgsText != nil {
			if c.Args != nil {
				return Step{}, fmt.Errorf("call %d has both args and args_text", i+1)
			}
			call.Args = []byte(*c.ArgsText)
		}
		s.Calls = append(s.Calls, call)
	}
	if u := in.Usage; u != nil {
		s.Usage = &membrane.Usage{In: u.In, Out: u.Out, CacheRead: u.CacheRead, CacheWrite: u.CacheWrite}
	}
	if e := in.Error; e != nil {
		s.Fail = &Failure{
			Kind: e.Kind, Text: e.Text, Status: e.Status, RetryAfter: millis(e.RetryMS),
			Times: e.Times, AfterChunks: e.AfterChunks,
		}
	}
	return s, nil
}

// millis bounds what it multiplies, so that a number from a file cannot wrap around to a valid one.
func millis(n int64) time.Duration {
	const most = int64(MaxWait/time.Millisecond) + 1
	return time.Duration(min(max(n, -1), most)) * time.Millisecond
}
