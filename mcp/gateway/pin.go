package gateway

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/weir-run/weir/envelope/fingerprint"
	"github.com/weir-run/weir/mcp/client"
)

// pins are what the tools of the servers promised when they were approved.
type pins struct {
	Version int               `json:"version"`
	Servers map[string]pinned `json:"servers"`
}

// pinned is one server, by its name and the way in which it is started or reached.
type pinned struct {
	At string `json:"approved_at"`
	// Said are its instructions for a model.
	Said  string                `json:"instructions,omitempty"`
	Tools map[string]pinnedTool `json:"tools"`
}

// pinnedTool is one tool: the hash of all that was sent of it, and the entry itself.
type pinnedTool struct {
	Hash  string          `json:"contract"`
	Entry json.RawMessage `json:"entry"`
}

func (p pinned) names() []string {
	all := make([]string, 0, len(p.Tools))
	for name := range p.Tools {
		all = append(all, name)
	}
	slices.Sort(all)
	return all
}

// pinKey names a server in the file of pins: one that is started in another way is another one.
func pinKey(name string, s client.Server) string {
	var all []byte
	for _, part := range append([]string{s.Command, s.URL}, s.Args...) {
		all = fmt.Appendf(all, "%d:%s", len(part), part)
	}
	sum := sha256.Sum256(all)
	return name + " " + hex.EncodeToString(sum[:6])
}

// contract is the hash of everything that is sent of a tool.
func contract(raw json.RawMessage) string {
	form, err := fingerprint.Canonical(raw)
	if err != nil {
		form = raw
	}
	sum := sha256.Sum256(form)
	return hex.EncodeToString(sum[:])
}

// changes names the members that differ between two entries, sorted.
func changes(before, now json.RawMessage) []string {
	var a, b map[string]json.RawMessage
	if json.Unmarshal(before, &a) != nil || json.Unmarshal(now, &b) != nil {
		return []string{"its entry"}
	}
	var all []string
	for key, value := range b {
		if old, ok := a[key]; !ok || contract(old) != contract(value) {
			all = append(all, key)
		}
	}
	for key := range a {
		if _, ok := b[key]; !ok {
			all = append(all, key)
		}
	}
	slices.Sort(all)
	return all
}

// maxPins is the longest file of pins that is read, in bytes.
const maxPins = 64 << 20

func readPins(path string) (pins, error) {
	p := pins{Version: 1, Servers: map[string]pinned{}}
	if path == "" {
		return p, nil
	}
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return p, nil
	}
	if err == nil && info.Size() > maxPins {
		err = fmt.Errorf("it has %d bytes, more than %d", info.Size(), maxPins)
	}
	var raw []byte
	if err == nil {
		raw, err = os.ReadFile(path)
	}
	if err == nil {
		err = json.Unmarshal(raw, &p)
	}
	if err == nil && p.Version != 1 {
		err = fmt.Errorf("it is of version %d, and this program knows 1", p.Version)
	}
	if err != nil {
		return p, fmt.Errorf("read what was approved of the MCP servers (%s): %w. Move the file away to approve all servers anew", path, err)
	}
	if p.Servers == nil {
		p.Servers = map[string]pinned{}
	}
	return p, nil
}

// write keeps the pins, whole or not at all.
func (p pins) write(path string) error {
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	if err := e.Encode(p); err != nil {
		return fmt.Errorf("write what is approved of the MCP servers: %w", err)
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".mcp-pins-*")
	if err != nil {
		return fmt.Errorf("write what is approved of the MCP servers: %w", err)
	}
	_, err = f.Write(out.Bytes())
	if err = errors.Join(err, f.Sync(), f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("write what is approved of the MCP servers (%s): %w", path, err), os.Remove(f.Name()))
	}
	return nil
}

// Change is what is another now with a tool than when its server was approved.
type Change struct {
	// Server and Tool are the names of both; Tool is empty where it is the server's instructions.
	Server, Tool string
	// What is "new", "gone" or "changed", and Members are what changed of its entry in tools/list, sorted.
	What    string
	Members []string
}

// Accept approves what the servers of a gateway list now, and gives what that changes. Of a server that
// cannot be used, what was approved before stays; it is told as an error beside the changes.
func Accept(ctx context.Context, cfg Config) ([]Change, error) {
	p, err := readPins(cfg.Pins)
	if err != nil {
		return nil, err
	}
	set, err := client.Connect(ctx, cfg.Servers, cfg.Client)
	if err != nil {
		return nil, err
	}
	defer func() { _ = set.Close() }() // they end either way
	var all []Change
	var failed []error
	for _, s := range set.Servers() {
		if s.Err != nil {
			failed = append(failed, fmt.Errorf("MCP server %s cannot be used: %w", s.Name, s.Err))
			continue
		}
		raws, err := set.ToolsRaw(s.Name)
		if err != nil {
			return nil, err
		}
		key := pinKey(s.Name, cfg.Servers.Servers[s.Name])
		now := pinned{At: time.Now().UTC().Format(time.RFC3339), Said: s.Instructions, Tools: map[string]pinnedTool{}}
		for _, raw := range raws {
			if e, ok := readEntry(raw); ok {
				now.Tools[e.Name] = pinnedTool{Hash: contract(raw), Entry: raw}
			}
		}
		all = append(all, now.since(s.Name, p.Servers[key])...)
		p.Servers[key] = now
	}
	if cfg.Pins != "" {
		if err := p.write(cfg.Pins); err != nil {
			return nil, err
		}
	}
	return all, errors.Join(failed...)
}

// since gives what is another than before, sorted by tool.
func (p pinned) since(server string, before pinned) []Change {
	var all []Change
	if before.Tools != nil && before.Said != p.Said {
		all = append(all, Change{server, "", "changed", []string{"instructions"}})
	}
	for _, name := range p.names() {
		old, ok := before.Tools[name]
		switch {
		case !ok:
			all = append(all, Change{server, name, "new", nil})
		case old.Hash != p.Tools[name].Hash:
			all = append(all, Change{server, name, "changed", changes(old.Entry, p.Tools[name].Entry)})
		}
	}
	for _, name := range before.names() {
		if _, ok := p.Tools[name]; !ok {
			all = append(all, Change{server, name, "gone", nil})
		}
	}
	return all
}
