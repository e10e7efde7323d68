package envelope

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/weir-run/weir/internal/canon"
)

// covered holds that what is shown of a value is the value, or differs from it only where a mark says how
// much is left out. It knows nothing of how forms are made.
func covered(a *tree, i int32, b *tree, j int32) error {
	x, y := &a.nodes[i], &b.nodes[j]
	if string(a.src[x.start:x.end]) == string(b.src[y.start:y.end]) {
		return nil
	}
	if x.kind != y.kind {
		return fmt.Errorf("%.60s is shown as %.60s", a.src[x.start:x.end], b.src[y.start:y.end])
	}
	switch x.kind {
	case '"':
		return coveredString(string(a.src[x.start+1:x.end-1]), string(b.src[y.start+1:y.end-1]))
	case '[':
		return coveredArray(a, i, b, j)
	case '{':
		return coveredObject(a, i, b, j)
	}
	return fmt.Errorf("%.60s is shown as %.60s", a.src[x.start:x.end], b.src[y.start:y.end])
}

func coveredString(whole, shown string) error {
	for from := 0; ; {
		at := strings.Index(shown[from:], markHead)
		if at < 0 {
			return fmt.Errorf("a string has no mark: %.80s", shown)
		}
		at += from
		head, rest := shown[:at], shown[at+len(markHead):]
		number, tail, ok := strings.Cut(rest, markTail)
		n, err := strconv.Atoi(number)
		if ok && err == nil && strings.HasPrefix(whole, head) && strings.HasSuffix(whole, tail) && len(head)+len(tail) <= len(whole) &&
			chars([]byte(whole[len(head):len(whole)-len(tail)])) == n {
			return nil
		}
		from = at + 1
	}
}

func children(t *tree, i int32) (all []int32) {
	for c := i + 1; c < t.nodes[i].next; c = t.nodes[c].next {
		all = append(all, c)
	}
	return all
}

func isEndMark(t *tree, i int32) (int, bool) {
	n := &t.nodes[i]
	if n.kind != '{' || n.kids != 1 {
		return 0, false
	}
	if name := t.keyName(&t.nodes[i+1]); name != keyOmitted && name != prefix+keyOmitted[1:] {
		return 0, false
	}
	count, err := strconv.Atoi(string(t.src[t.nodes[i+1].start:t.nodes[i+1].end]))
	return count, err == nil
}

// subsequence matches the elements that are shown with those that are there, in order.
func subsequence(a *tree, all []int32, b *tree, shown []int32) bool {
	at := 0
	for _, s := range shown {
		for at < len(all) && covered(a, all[at], b, s) != nil {
			at++
		}
		if at == len(all) {
			return false
		}
		at++
	}
	return true
}

func coveredArray(a *tree, i int32, b *tree, j int32) error {
	all, shown := children(a, i), children(b, j)
	if b.nodes[j].keyEnd == 0 && len(shown) > 0 {
		if n, ok := isEndMark(b, shown[len(shown)-1]); ok && n == len(all)-len(shown)+1 && subsequence(a, all, b, shown[:len(shown)-1]) {
			return nil
		}
	}
	if len(shown) != len(all) && b.nodes[j].keyEnd == 0 {
		return fmt.Errorf("%d of %d elements are shown and no mark says so", len(shown), len(all))
	}
	if !subsequence(a, all, b, shown) {
		return fmt.Errorf("elements are shown that are not there, or unmarked")
	}
	return nil
}

func coveredObject(a *tree, i int32, b *tree, j int32) error {
	all, shown := children(a, i), children(b, j)
	used := map[int32]bool{}
	own := map[string]bool{}
	for _, c := range all {
		own[a.keyName(&a.nodes[c])] = true
	}
	wantSide := 0 // elements that a mark has to tell of next
	named := 0
	for _, s := range shown {
		name := b.keyName(&b.nodes[s])
		value := string(b.src[b.nodes[s].start:b.nodes[s].end])
		if wantSide > 0 {
			if !strings.HasSuffix(name, keyOmitted) || own[name] || value != strconv.Itoa(wantSide) {
				return fmt.Errorf("after an array %d are omitted, and %q says %.20s", wantSide, name, value)
			}
			wantSide = 0
			continue
		}
		found := int32(-1)
		for _, c := range all {
			key := a.keyName(&a.nodes[c])
			if used[c] || key != name && !strings.Contains(name, " characters omitted, value "+strconv.Itoa(int(c))+"]…") {
				continue
			}
			// Of a key that stands more than once it is the first value that it can be.
			if found = c; covered(a, c, b, s) == nil {
				break
			}
		}
		switch {
		case found >= 0:
			used[found] = true
			if err := covered(a, found, b, s); err != nil {
				return fmt.Errorf("%.40s: %w", name, err)
			}
			if a.nodes[found].kind == '[' {
				wantSide = int(a.nodes[found].kids - b.nodes[s].kids)
			}
		case strings.HasSuffix(name, keyNames) && !own[name]:
			for _, c := range children(b, s) {
				text, _ := canon.Unquote(b.src[b.nodes[c].start:b.nodes[c].end])
				var more int
				if n, _ := fmt.Sscanf(text, "… and %d more", &more); n == 1 {
					named += more
				} else {
					named++
				}
			}
		case strings.HasSuffix(name, keyTruncated) && value == "true" && j == 0:
		default:
			return fmt.Errorf("the field %.80q is not the payload's and no mark", name)
		}
	}
	if wantSide > 0 {
		return fmt.Errorf("%d omitted elements are not told of", wantSide)
	}
	if left := len(all) - len(used); left != named {
		return fmt.Errorf("%d fields are left out, the mark tells of %d", left, named)
	}
	return nil
}

// member is a member of a JSON object as it is written; nil when it is not there.
func member(tb testing.TB, object, name string) json.RawMessage {
	tb.Helper()
	t, ok := parse([]byte(object), nil, nil)
	if !ok || t.nodes[0].kind != '{' {
		tb.Fatalf("it is no JSON object: %.200s", object)
	}
	for _, c := range children(t, 0) {
		if t.keyName(&t.nodes[c]) == name {
			return json.RawMessage(t.src[t.nodes[c].start:t.nodes[c].end])
		}
	}
	return nil
}

// fields are the names of the members of a JSON object, in their order.
func fields(tb testing.TB, object string) (names []string) {
	tb.Helper()
	t, ok := parse([]byte(object), nil, nil)
	if !ok || t.nodes[0].kind != '{' {
		tb.Fatalf("it is no JSON object: %.200s", object)
	}
	for _, c := range children(t, 0) {
		names = append(names, t.keyName(&t.nodes[c]))
	}
	return names
}

// holdsCover holds that the data of a text is covered by marks.
func holdsCover(tb testing.TB, payload, text string, stage int) {
	tb.Helper()
	name := "data"
	if stage == 5 {
		name = "data_preview"
	}
	data := member(tb, text, name)
	if data == nil {
		if stage != 5 || member(tb, text, "error") == nil {
			tb.Errorf("the text has no %s: %.200s", name, text)
		}
		return
	}
	a, ok := parse([]byte(payload), nil, nil)
	b, ok2 := parse(data, nil, nil)
	if !ok || !ok2 {
		tb.Fatalf("payload %v, data %v: %.200s", ok, ok2, data)
	}
	if err := covered(a, 0, b, 0); err != nil {
		tb.Errorf("stage %d: %v\npayload %.500s\ndata    %.500s", stage, err, payload, data)
	}
}
