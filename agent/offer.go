package agent

import (
	"bytes"
	"context"
	"fmt"
	"slices"

	"github.com/weir-run/weir/round"
	"github.com/weir-run/weir/tool"
)

// offer is what the model may call, as of the last boundary between two rounds.
type offer struct {
	tools   []tool.Tool // sorted by name: the order is part of the prompt
	settler *round.Settler
	// changing are those of the tools that [Config.Refresh] gave, as it gave them.
	changing []tool.Tool
}

// offered makes what may be called of the agent's own tools and of those that may change.
func (d *drive) offered(changing []tool.Tool) (offer, error) {
	settler, err := d.a.settler(append(append([]tool.Tool{}, d.a.tools...), changing...), d.notice)
	if err != nil {
		return offer{}, err
	}
	return offer{tools: settler.Tools(), settler: settler, changing: changing}, nil
}

// offerAtStart takes what may be called when a run begins. Tools that cannot be used fail the run: nothing was
// asked with them yet.
func (d *drive) offerAtStart(ctx context.Context) error {
	var changing []tool.Tool
	if refresh := d.a.cfg.Refresh; refresh != nil {
		var err error
		if changing, err = refresh(ctx); err != nil {
			return fmt.Errorf("list the tools that may change: %w", err)
		}
	}
	o, err := d.offered(changing)
	if err != nil {
		return err
	}
	d.offer = o
	return nil
}

// refreshed gives what may be called from the next request on; false when nothing has changed. A list that
// cannot be had or used changes nothing: the run goes on with the last one.
func (d *drive) refreshed() (offer, bool) {
	refresh := d.a.cfg.Refresh
	if refresh == nil || d.ctx.Err() != nil {
		return offer{}, false
	}
	changing, err := refresh(d.ctx)
	if err != nil {
		d.a.cfg.Logger.Warn("the tools were not listed again", "conversation", d.conversation, "err", err)
		return offer{}, false
	}
	if slices.EqualFunc(changing, d.offer.changing, alike) {
		return offer{}, false // mostly: then no schema is compiled again between two rounds
	}
	next, err := d.offered(changing)
	if err != nil {
		d.a.cfg.Logger.Warn("the new tools cannot be used", "conversation", d.conversation, "err", err)
		return offer{}, false
	}
	return next, true
}

// alike reports whether two tools are the same to a model, a validator and the runtime.
func alike(a, b tool.Tool) bool {
	a.Fit, b.Fit = nil, nil
	return a.Name == b.Name && a.Description == b.Description && bytes.Equal(a.Schema, b.Schema) &&
		bytes.Equal(a.Output, b.Output) && a.Traits == b.Traits
}
