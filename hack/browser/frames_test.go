package browser

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/tracing"
	"github.com/chromedp/chromedp"
)

// traceEvent is an event of a trace. Times are in microseconds.
type traceEvent struct {
	Name     string  `json:"name"`
	Phase    string  `json:"ph"`
	Process  int64   `json:"pid"`
	Thread   int64   `json:"tid"`
	Start    float64 `json:"ts"`
	Duration float64 `json:"dur"`
	// CPU is the processor time of the thread within Duration.
	CPU float64 `json:"tdur"`
}

// end returns the time at which the event ended.
func (e *traceEvent) end() float64 { return e.Start + e.Duration }

// frameBegins is the name of the event that begins each frame, in the thread that runs the scripts of the page.
const frameBegins = "BeginMainThreadFrame"

// workOf maps the names of trace events to the kind of work that the page does. An event that is not in the map and is within a script
// counts as a part of the script.
var workOf = map[string]string{
	"UpdateLayoutTree": "style", "Layout": "layout", "PrePaint": "paint", "Paint": "paint", "Layerize": "paint", "Commit": "paint",
}

// frame describes the time from the beginning of one frame to the beginning of the next frame.
type frame struct {
	// milliseconds is the duration of the frame. own maps each kind of work of the page to its processor time in the frame, in
	// milliseconds. In the rest of the frame, the renderer works or the page waits for the renderer.
	milliseconds float64
	own          map[string]float64
}

// total returns the processor time of all work of the page in milliseconds.
func (f frame) total() float64 {
	sum := 0.0
	for _, ms := range f.own {
		sum += ms
	}
	return sum
}

func (f frame) String() string {
	text := fmt.Sprintf("%.1f ms, of which the page %.1f ms:", f.milliseconds, f.total())
	for _, kind := range []string{"script", "style", "layout", "paint"} {
		text += fmt.Sprintf(" %s %.1f", kind, f.own[kind])
	}
	return text
}

// trace calls act and returns the frames of the tab during the call.
func (tab *tab) trace(act func()) []frame {
	tab.t.Helper()
	var events []traceEvent
	done := make(chan error, 1)
	var failed error
	if err := chromedp.Listen(tab.ctx, func(event any) {
		switch e := event.(type) {
		case *tracing.EventDataCollected:
			for _, value := range e.Value {
				var event traceEvent
				failed = cmp.Or(failed, json.Unmarshal(value, &event))
				events = append(events, event)
			}
		case *tracing.EventTracingComplete:
			if e.DataLossOccurred {
				failed = cmp.Or(failed, errors.New("the trace is incomplete"))
			}
			done <- failed
		}
	}); err != nil {
		tab.fail(err)
	}
	start := tracing.StartParams{TraceConfig: &tracing.TraceConfig{
		IncludedCategories: []string{"devtools.timeline", "devtools.timeline.frame", "disabled-by-default-devtools.timeline.frame"},
		ExcludedCategories: []string{"*"},
	}}
	if _, err := chromedp.Call(tab.ctx, tracing.Start, start); err != nil {
		tab.fail(err)
	}
	act()
	if _, err := chromedp.Call(tab.ctx, tracing.End, cdp.Empty{}); err != nil {
		tab.fail(err)
	}
	if err := <-done; err != nil {
		tab.fail(err)
	}
	return framesOf(events)
}

// framesOf returns the complete frames of the page that has the most frames.
func framesOf(events []traceEvent) []frame {
	type thread struct{ process, thread int64 }
	of := func(e traceEvent) thread { return thread{e.Process, e.Thread} }
	begins := map[thread][]float64{}
	var page thread
	for _, e := range events {
		if e.Name == frameBegins {
			begins[of(e)] = append(begins[of(e)], e.Start)
			if len(begins[of(e)]) > len(begins[page]) {
				page = of(e)
			}
		}
	}
	at := begins[page]
	slices.Sort(at)
	frames := make([]frame, max(0, len(at)-1))
	for i := range frames {
		frames[i] = frame{(at[i+1] - at[i]) / 1000, map[string]float64{}}
	}
	events = slices.DeleteFunc(events, func(e traceEvent) bool { return e.Phase != "X" || of(e) != page })
	// Events can be nested. Of events that begin at the same time, sort the longer event first, because it contains the shorter one.
	slices.SortFunc(events, func(a, b traceEvent) int {
		return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(b.Duration, a.Duration))
	})
	add := func(e traceEvent, ms float64) {
		i, begins := slices.BinarySearch(at, e.Start)
		if !begins {
			i--
		}
		if i >= 0 && i < len(frames) {
			frames[i].own[cmp.Or(workOf[e.Name], "script")] += ms
		}
	}
	var open []traceEvent
	for _, e := range events {
		for len(open) > 0 && open[len(open)-1].end() <= e.Start {
			open = open[:len(open)-1]
		}
		if len(open) > 0 {
			add(open[len(open)-1], -e.CPU/1000)
		}
		add(e, e.CPU/1000)
		open = append(open, e)
	}
	return frames
}
