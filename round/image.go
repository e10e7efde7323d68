package round

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path"
	"strings"

	"github.com/weir-run/weir/execute"
	"github.com/weir-run/weir/history"
	"github.com/weir-run/weir/result"
	"github.com/weir-run/weir/spill"
)

// maxImage is the largest kept image that is read back, in bytes; a larger one stays its placeholder.
const maxImage = 20 << 20

// Images reads the images of a stored result back from the files that they were kept in, each once, in order:
// what a model is shown beside the text when the result is encoded again. One whose file is gone, or is larger
// than 20 MiB, is left out; its placeholder stands in the text.
func Images(ctx context.Context, store history.Store, conversation string, r history.Result) ([]result.Payload, error) {
	notes, err := execute.ReadNotes(r.Notes)
	if err != nil {
		return nil, err
	}
	var all []result.Payload
	seen := map[int]bool{}
	var kept []spill.Ref
	for _, m := range notes.Marks {
		if !m.Image || seen[m.Payload] {
			continue
		}
		seen[m.Payload] = true
		if kept == nil {
			if kept, err = store.SpillsOf(ctx, conversation); err != nil {
				return nil, fmt.Errorf("list the files of %s: %w", conversation, err)
			}
		}
		name := spill.Name{Result: r.ID.String(), Tool: r.Tool, Part: m.Payload + 1, Ext: ".bin"}
		if p, ok := imageOf(ctx, store.Spills(), kept, name); ok {
			all = append(all, p)
		}
	}
	return all, nil
}

// imageOf finds the file of one payload, whose extension says what it is, and reads it.
func imageOf(ctx context.Context, files spill.Store, kept []spill.Ref, n spill.Name) (result.Payload, bool) {
	base, err := n.Base()
	if err != nil {
		return result.Payload{}, false
	}
	stem := strings.TrimSuffix(base, n.Ext)
	for _, ref := range kept {
		ext := path.Ext(ref.Name)
		if strings.TrimSuffix(ref.Name, ext) != stem || ext == ".txt" || ext == ".raw" || ref.Index.Bytes > maxImage {
			continue
		}
		f, err := files.Open(ctx, ref.File)
		if err != nil {
			return result.Payload{}, false
		}
		data, err := io.ReadAll(io.NewSectionReader(f, 0, f.Size()))
		if errors.Join(err, f.Close()) != nil {
			return result.Payload{}, false
		}
		return result.Payload{Part: n.Part, Ext: ext, MIMEType: http.DetectContentType(data), Data: data}, true
	}
	return result.Payload{}, false
}
