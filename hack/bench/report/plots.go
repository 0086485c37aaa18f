package report

import (
	"bytes"
	"image/color"
	"math"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

// graph is one plot: bars on a logarithmic axis, with a group for each workload and a color for each subject.
type graph struct {
	name, Title, axis string
	groups            []group
	of                Metric
}

// group contains the bars of one workload.
type group struct{ label, workload string }

var plots = []graph{
	{"pages", "Processor time of the server for a page of 50 items", "µs", []group{
		{"hot", HotPages}, {"gzip", ZippedPages}, {"304", HeldPages}, {"Zipf", ZipfPages}, {"uniform", UniformPages},
	}, func(r Round) float64 { return 1000 * CPUPerRequest(r) }},
	{"latency", "Median latency of an ad-hoc query, one client", "ms", []group{
		{"boolean, newest first", Booleans}, {"sent again", BooleansKept}, {"ranked full text", Ranked}, {"sent again", RankedKept},
	}, P50},
	{"writes", "Items written per second, durable", "items/s", []group{
		{"bulk import", Imports}, {"64 single posts", Posts},
	}, PerSecond},
}

// subjects lists the subjects in drawing order, with their colors.
var subjects = []struct {
	name  string
	paint color.RGBA
}{
	{Vitrine, color.RGBA{R: 0x1f, G: 0x6f, B: 0xb4, A: 0xff}},
	{Bare, color.RGBA{R: 0x9a, G: 0x9a, B: 0x9a, A: 0xff}},
	{OpenSearch, color.RGBA{R: 0xe0, G: 0x7b, B: 0x2a, A: 0xff}},
	{Bleve, color.RGBA{R: 0x5b, G: 0xa3, B: 0x55, A: 0xff}},
}

// File returns the name of the plot of a run.
func (g graph) File(r *Run) string { return r.Scale + "-" + g.name + ".svg" }

// plotsOf returns the plots for which a run has data.
func plotsOf(r *Run) []graph {
	return slices.DeleteFunc(slices.Clone(plots), func(g graph) bool {
		return !slices.ContainsFunc(g.groups, func(at group) bool { return r.Workload(at.workload) != nil })
	})
}

// draw returns the plot of a run as SVG.
func (g graph) draw(r *Run) ([]byte, error) {
	p := plot.New()
	p.Title.Text = g.Title
	p.Y.Label.Text = g.axis
	p.Y.Scale, p.Y.Tick.Marker = plot.LogScale{}, decades{}
	p.Legend.Top = true
	p.Add(plotter.NewGrid())
	const width = vg.Length(22)
	var bars []*columns
	lowest, highest := math.Inf(1), 0.0
	for _, s := range subjects {
		values := make(plotter.Values, 0, len(g.groups))
		there := false
		for _, at := range g.groups {
			m := r.Workload(at.workload).Find(s.name).Median(g.of)
			values = append(values, m.Value)
			there = there || m.Known
			if m.Value > 0 {
				lowest, highest = min(lowest, m.Value), max(highest, m.Value)
			}
		}
		if !there {
			continue
		}
		c := &columns{values: values, width: width, paint: s.paint}
		bars = append(bars, c)
		p.Legend.Add(s.name, c)
	}
	for i, c := range bars {
		// Each group is centered over its label.
		c.offset = (vg.Length(i) - vg.Length(len(bars)-1)/2) * width
		p.Add(c)
	}
	labels := make([]string, len(g.groups))
	for i, at := range g.groups {
		labels[i] = at.label
	}
	p.NominalX(labels...)
	p.X.Min, p.X.Max = -0.5, float64(len(labels))-0.3 // leave space for the legend on the right
	p.Y.Min, p.Y.Max = lowest/2, highest*4
	canvas := vgsvg.New(640, 300)
	p.Draw(draw.New(canvas))
	var out bytes.Buffer
	if _, err := canvas.WriteTo(&out); err != nil {
		return nil, err
	}
	// The plotting library leaves spaces at the ends of lines, which make diffs longer.
	lines := strings.Split(out.String(), "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	return []byte(strings.Join(lines, "\n")), nil
}

// columns are bars that begin at the lower end of a logarithmic axis, with their values above them. Values of 0 are omitted.
type columns struct {
	values        plotter.Values
	width, offset vg.Length
	paint         color.Color
}

// Plot implements plot.Plotter.
func (c *columns) Plot(canvas draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&canvas)
	style := p.X.Tick.Label
	style.XAlign, style.YAlign = draw.XCenter, draw.YBottom
	style.Font.Size = 7
	for i, v := range c.values {
		if v <= 0 {
			continue
		}
		left := x(float64(i)) + c.offset - c.width/2
		canvas.FillPolygon(c.paint, []vg.Point{
			{X: left, Y: canvas.Min.Y}, {X: left, Y: y(v)}, {X: left + c.width - 2, Y: y(v)}, {X: left + c.width - 2, Y: canvas.Min.Y},
		})
		canvas.FillText(style, vg.Point{X: left + c.width/2, Y: y(v) + 1}, significant(v))
	}
}

// Thumbnail implements plot.Thumbnailer.
func (c *columns) Thumbnail(canvas *draw.Canvas) {
	lo, hi := canvas.Min, canvas.Max
	canvas.FillPolygon(c.paint, []vg.Point{lo, {X: lo.X, Y: hi.Y}, hi, {X: hi.X, Y: lo.Y}})
}

// decades labels the powers of ten with plain numbers.
type decades struct{}

// Ticks implements plot.Ticker.
func (decades) Ticks(low, high float64) []plot.Tick {
	ticks := plot.LogTicks{}.Ticks(low, high)
	for i, t := range ticks {
		if t.Label != "" {
			ticks[i].Label = strconv.FormatFloat(t.Value, 'f', -1, 64)
		}
	}
	return ticks
}
