//go:build weirchanged

package drill

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strconv"

	"github.com/weir-run/weir/membrane"
	"github.com/weir-run/weir/result"
	"github.com/weir-run/weir/tool"
)

// build gives the model and the tools as another build of the program might have them: heads and messages
// have other bytes for the same meaning, and a result becomes another text.
func build(m membrane.Model, tools []tool.Tool) (membrane.Model, []tool.Tool) {
	var quoted []tool.Tool
	for _, t := range tools {
		run := t.Run
		t.Run = func(ctx context.Context, c tool.Call) (tool.Result, error) {
			r, err := run(ctx, c)
			if err != nil {
				return r, err
			}
			return tool.Text(strconv.Quote(result.Text(r))), nil
		}
		quoted = append(quoted, t)
	}
	return changed{m}, quoted
}

// changed writes other bytes than the model that it stands for.
type changed struct{ membrane.Model }

func (c changed) Encoder() string { return c.Model.Encoder() + "-changed" }

func (c changed) EncodeHead(h membrane.Head) (membrane.Envelope, error) {
	e, err := c.Model.EncodeHead(h)
	if err != nil {
		return e, err
	}
	e.Head = append([]byte("{ "), bytes.TrimPrefix(e.Head, []byte("{"))...)
	e.Tail = append([]byte(" "), e.Tail...)
	return e, nil
}

func (c changed) EncodeMessage(m membrane.Message) ([]byte, error) {
	fragment, err := c.Model.EncodeMessage(m)
	if err != nil {
		return nil, err
	}
	return otherwise(fragment)
}

func (c changed) Stream(ctx context.Context, r membrane.Request) iter.Seq2[membrane.Event, error] {
	return func(yield func(membrane.Event, error) bool) {
		for e, err := range c.Model.Stream(ctx, r) {
			if done, ok := e.(membrane.Done); ok && err == nil {
				done.Fragment, err = otherwise(done.Fragment)
				e = done
			}
			if !yield(e, err) {
				return
			}
		}
	}
}

// otherwise writes the elements of a fragment with other spacing and in another order of keys.
func otherwise(fragment []byte) ([]byte, error) {
	var elements []map[string]json.RawMessage
	if err := json.Unmarshal(slices.Concat([]byte("["), fragment, []byte("]")), &elements); err != nil {
		return nil, fmt.Errorf("read a fragment: %w", err)
	}
	var out [][]byte
	for _, e := range elements {
		var members [][]byte
		for _, key := range slices.Sorted(maps.Keys(e)) {
			members = append(members, fmt.Appendf(nil, "%q"+changedColon+"%s", key, e[key]))
		}
		out = append(out, slices.Concat([]byte("{ "), bytes.Join(members, []byte(" , ")), []byte(" }")))
	}
	return bytes.Join(out, []byte(",")), nil
}
