package document

import (
	"container/list"
	"sync"
	"time"
)

// settled is how long a file must be unchanged before its index is kept: a file that changes again
// within one tick of its file system's clock looks the same.
const settled = 2 * time.Second

// Cache keeps the indexes that were used last. It is safe for concurrent use.
type Cache struct {
	most  int
	mu    sync.Mutex
	order *list.List // of *kept, the last used first
	byKey map[string]*list.Element
}

type kept struct {
	key     string
	size    int64
	changed time.Time
	ix      *Index
}

// NewCache makes a cache for this many indexes.
func NewCache(most int) *Cache {
	return &Cache{most: most, order: list.New(), byKey: map[string]*list.Element{}}
}

// Get returns the index of a file that has still the same size and time of change; nil when none is
// kept. One that is stale is dropped.
func (c *Cache) Get(key string, size int64, changed time.Time) *Index {
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.byKey[key]
	if !ok {
		return nil
	}
	k := e.Value.(*kept)
	if k.size != size || !k.changed.Equal(changed) {
		c.drop(e)
		return nil
	}
	c.order.MoveToFront(e)
	return k.ix
}

// Put keeps an index, unless the file changed a moment ago: it may change again unseen. A zero time
// says that the file never changes.
func (c *Cache) Put(key string, size int64, changed time.Time, ix *Index) {
	if !changed.IsZero() && time.Since(changed) < settled {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if e, ok := c.byKey[key]; ok {
		c.drop(e)
	}
	c.byKey[key] = c.order.PushFront(&kept{key, size, changed, ix})
	for c.order.Len() > c.most {
		c.drop(c.order.Back())
	}
}

func (c *Cache) drop(e *list.Element) {
	c.order.Remove(e)
	delete(c.byKey, e.Value.(*kept).key)
}
