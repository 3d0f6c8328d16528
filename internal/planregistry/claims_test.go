package planregistry

import "testing"

func TestClaims(t *testing.T) {
	mac := Claim{Kind: "MAC address", Scope: `network "n"`, Value: "52:54:00:00:00:01"}
	other := Claim{Kind: "MAC address", Scope: `network "m"`, Value: "52:54:00:00:00:01"}
	var c Claims
	if got := c.Replace("node a", mac); got != nil {
		t.Fatalf("first claim: conflicts %v", got)
	}
	if got := c.Replace("node a", mac); got != nil {
		t.Fatalf("planning one resource twice: conflicts %v", got)
	}
	if got := c.Replace("node b", other); got != nil {
		t.Fatalf("same value in another scope: conflicts %v", got)
	}
	got := c.Replace("node b", mac)
	if len(got) != 1 || got[0].Holder != "node a" {
		t.Fatalf("second claim of one value: conflicts %v", got)
	}
	c.Replace("node a")
	if got := c.Replace("node b", mac); got != nil {
		t.Fatalf("claim that was given up: conflicts %v", got)
	}
	if c.Holder(mac) != "node b" {
		t.Fatalf("holder is %q", c.Holder(mac))
	}
}
