package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"unicode/utf8"

	"github.com/weir-run/weir/history"
	"github.com/weir-run/weir/membrane"
	"github.com/weir-run/weir/tokens"
)

// weigh counts the tokens of all results, as they stand in the last body and whole.
func (d *demo) weigh(ctx context.Context, store history.Store, last body) error {
	r := &d.report
	shown, err := resultsIn(last.all)
	if err != nil {
		return fmt.Errorf("read body %s: %w", filepath.Base(last.file), err)
	}
	whole, err := wholes(ctx, store)
	if err != nil {
		return err
	}
	if len(shown) != len(whole) {
		return fmt.Errorf("the last request shows %s of %d", plural(len(shown), "result"), len(whole))
	}
	encoding, err := tokens.New(tokens.O200K)
	if err != nil {
		return err
	}
	r.Encoding = encoding.Name()
	if r.ShownTokens, r.ShownBytes, err = weighed(ctx, encoding, shown, func(_, _ int64) {}); err != nil {
		return err
	}
	r.WholeTokens, r.WholeBytes, err = weighed(ctx, encoding, whole, d.showCount)
	return err
}

// resultsIn gives the texts of all results in a body.
func resultsIn(b []byte) ([]string, error) {
	var request struct {
		Messages []struct {
			Role    membrane.Role `json:"role"`
			Content []struct {
				Text string `json:"text"`
			} `json:"content"`
		} `json:"messages"`
	}
	if err := json.Unmarshal(b, &request); err != nil {
		return nil, err
	}
	var texts []string
	for _, m := range request.Messages {
		for _, c := range m.Content {
			if m.Role == membrane.Results {
				texts = append(texts, c.Text)
			}
		}
	}
	return texts, nil
}

// wholes gives the whole texts of all results.
func wholes(ctx context.Context, store history.Store) ([]string, error) {
	results, err := store.ResultsOf(ctx, demoConversation, 0)
	if err != nil {
		return nil, err
	}
	var texts []string
	for _, r := range results {
		if r.Spill == nil {
			if r, err = store.ResultOf(ctx, demoConversation, r.ID); err != nil {
				return nil, err
			}
			texts = append(texts, string(r.Whole))
			continue
		}
		f, err := store.Spills().Open(ctx, r.Spill.File)
		if err != nil {
			return nil, fmt.Errorf("read the whole of %s: %w", r.ID, err)
		}
		var b strings.Builder
		b.Grow(int(f.Size()))
		_, err = io.Copy(&b, io.NewSectionReader(f, 0, f.Size()))
		if err = errors.Join(err, f.Close()); err != nil {
			return nil, fmt.Errorf("read the whole of %s: %w", r.ID, err)
		}
		texts = append(texts, b.String())
	}
	return texts, nil
}

// piece is how long a text is that is counted at once, in bytes. Texts are cut at the end of a line, where
// a token ends too, but for a run of empty lines.
const piece = 256 << 10

// pieces cuts texts.
func pieces(texts []string) (all []string, length int64) {
	for _, text := range texts {
		length += int64(len(text))
		for len(text) > 0 {
			end := len(text)
			if end > piece {
				end = piece
				if cut := strings.LastIndexByte(text[:piece], '\n'); cut >= 0 {
					end = cut + 1
				}
				for end > 1 && end < len(text) && !utf8.RuneStart(text[end]) {
					end--
				}
			}
			all = append(all, text[:end])
			text = text[end:]
		}
	}
	return all, length
}

// weighed counts tokens and bytes, on all cores.
func weighed(ctx context.Context, encoding *tokens.Encoding, texts []string, show func(done, of int64)) (int, int64, error) {
	all, length := pieces(texts)
	var next, total, done atomic.Int64
	var workers sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			scale := &scale{encoding: encoding, known: map[string]int{}}
			for i := next.Add(1) - 1; int(i) < len(all) && ctx.Err() == nil; i = next.Add(1) - 1 {
				total.Add(int64(scale.count(all[i])))
				show(done.Add(int64(len(all[i]))), length)
			}
		})
	}
	workers.Wait()
	if ctx.Err() != nil {
		return 0, 0, context.Cause(ctx)
	}
	return int(total.Load()), length, nil
}

// scale counts the tokens of texts whose parts come again and again, such as the paths and the names of a
// list: each part is counted once.
//
// A text is parted only where the encoding parts it too, whatever stands there: between a letter or a digit
// and a colon, and between the end of a line and a letter or a digit. No token reaches across, for the
// patterns of the encodings (see package tokens) have no way from a letter or a digit to a colon, and none
// from the end of a line to either. So the sum is the count of the whole.
type scale struct {
	encoding *tokens.Encoding
	known    map[string]int
}

// Bounds of what a scale knows.
const (
	maxKnown = 1 << 18 // parts
	maxPart  = 256     // bytes of a part
)

func (s *scale) count(text string) (n int) {
	for from := 0; from < len(text); {
		to := from + 1
		for to < len(text) && !parts(text[to-1], text[to]) {
			to++
		}
		n += s.part(text[from:to])
		from = to
	}
	return n
}

func (s *scale) part(text string) int {
	n, ok := s.known[text]
	if !ok {
		n = s.encoding.Count(text)
		if len(text) <= maxPart && len(s.known) < maxKnown {
			s.known[text] = n
		}
	}
	return n
}

// parts says whether a token ends between two bytes, whatever is around them.
func parts(before, after byte) bool {
	return word(before) && after == ':' || before == '\n' && word(after)
}

func word(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
}
