package bind

import (
	"fmt"
	"testing"
)

func largeZone() Zone {
	z := Zone{View: "internal", Name: "big.example", TTL: 60, SOA: DefaultSOA, NameServers: []string{"localhost."}, Records: Records{}}
	for i := range 5000 {
		z.Records[fmt.Sprintf("h%d", i)] = map[string][]string{"A": {fmt.Sprintf("10.1.%d.%d", i/250, i%250)}}
	}
	return z
}

func BenchmarkLargeZone(b *testing.B) {
	z := largeZone()
	b.Run("validate", func(b *testing.B) {
		for b.Loop() {
			if p := z.Validate(); len(p) > 0 {
				b.Fatal(p)
			}
		}
	})
	f, err := z.makeFile()
	if err != nil {
		b.Fatal(err)
	}
	content := f.Render()
	b.Run("render", func(b *testing.B) {
		for b.Loop() {
			f, _ := z.makeFile()
			f.Render()
		}
	})
	b.Run("parse", func(b *testing.B) {
		for b.Loop() {
			parseZoneFile("big.example", content)
		}
	})
	got := parseZoneFile("big.example", content).zoneOf()
	b.Run("spell", func(b *testing.B) {
		for b.Loop() {
			z.Spell(got)
		}
	})
}
