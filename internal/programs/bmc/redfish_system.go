package bmc

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"strings"
)

// findSystem returns the system of an id, a name or a UUID, and how it is now; it answers by itself where there is none.
func (r *service) findSystem(w http.ResponseWriter, req *http.Request) (*System, View, bool) {
	id := req.PathValue("system")
	for _, s := range r.systems {
		if s.ID == id {
			v, err := s.View(req.Context())
			if err != nil {
				failWith(w, err)
			}
			return s, v, err == nil
		}
	}
	for _, s := range r.systems {
		if v, err := s.View(req.Context()); err == nil && (strings.EqualFold(v.UUID, id) || v.Name == id) {
			return s, v, true
		}
	}
	answerError(w, http.StatusNotFound, "ResourceMissingAtURI", fmt.Sprintf("there is no system %q", id))
	return nil, View{}, false
}

// addSystems adds the systems, and what belongs to each.
func (r *service) addSystems(mux *http.ServeMux) {
	get := func(path string, describe func(s *System, v View, req *http.Request) object) {
		mux.HandleFunc("GET "+root+path, func(w http.ResponseWriter, req *http.Request) {
			s, v, ok := r.findSystem(w, req)
			if !ok {
				return
			}
			doc := describe(s, v, req)
			if doc == nil {
				answerError(w, http.StatusNotFound, "ResourceMissingAtURI", "there is nothing at "+req.URL.Path)
				return
			}
			replyTagged(w, req, doc)
		})
	}
	act := func(path string, do func(ctx context.Context, s *System, w http.ResponseWriter, req *http.Request) error) {
		mux.HandleFunc("POST "+root+path, func(w http.ResponseWriter, req *http.Request) {
			s, _, ok := r.findSystem(w, req)
			if !ok {
				return
			}
			switch err := do(req.Context(), s, w, req); {
			case err == errAnswered: //nolint:errorlint // it is never wrapped
			case err != nil:
				failWith(w, err)
			default:
				w.WriteHeader(http.StatusNoContent)
			}
		})
	}
	for _, kind := range []struct{ path, schema, name string }{{"/Systems", "ComputerSystem", "Systems"}, {"/Managers", "Manager", "Managers"}, {"/Chassis", "Chassis", "Chassis"}} {
		mux.HandleFunc("GET "+root+kind.path, func(w http.ResponseWriter, req *http.Request) {
			var members []string
			for _, s := range r.systems {
				members = append(members, root+kind.path+"/"+s.ID)
			}
			replyTagged(w, req, newCollection(root+kind.path, kind.schema, kind.name, members...))
		})
	}
	get("/Systems/{system}", func(s *System, v View, _ *http.Request) object { return describeSystem(s, v) })
	get("/Managers/{system}", func(s *System, _ View, _ *http.Request) object { return r.describeManager(s) })
	mux.HandleFunc("PATCH "+root+"/Systems/{system}", r.changeSystem)
	mux.HandleFunc("PATCH "+root+"/Systems/{system}/SecureBoot", r.changeSecureBoot)
	act("/Systems/{system}/SecureBoot/Actions/SecureBoot.ResetKeys", func(ctx context.Context, s *System, w http.ResponseWriter, req *http.Request) error {
		var body struct{ ResetKeysType string }
		if !readBody(w, req, &body) {
			return errAnswered
		}
		return s.ResetKeys(ctx, body.ResetKeysType)
	})
	act("/Systems/{system}/Actions/ComputerSystem.Reset", func(ctx context.Context, s *System, w http.ResponseWriter, req *http.Request) error {
		var body struct{ ResetType Action }
		if !readBody(w, req, &body) {
			return errAnswered
		}
		return s.Reset(ctx, body.ResetType)
	})
	for _, owner := range []string{"/Systems/{system}", "/Managers/{system}"} {
		path := func(s *System) string { return root + strings.Replace(owner, "{system}", s.ID, 1) + "/VirtualMedia" }
		get(owner+"/VirtualMedia", func(s *System, _ View, _ *http.Request) object {
			var members []string
			for _, in := range slots {
				members = append(members, path(s)+"/"+in.id)
			}
			return newCollection(path(s), "VirtualMedia", "Virtual Media", members...)
		})
		for _, in := range slots {
			at := owner + "/VirtualMedia/" + in.id
			get(at, func(s *System, v View, _ *http.Request) object { return describeMedium(path(s)+"/"+in.id, in, v) })
			act(at+"/Actions/VirtualMedia.InsertMedia", func(ctx context.Context, s *System, w http.ResponseWriter, req *http.Request) error {
				return insertMedia(ctx, s, in, w, req)
			})
			act(at+"/Actions/VirtualMedia.EjectMedia", func(ctx context.Context, s *System, _ http.ResponseWriter, _ *http.Request) error {
				return s.Eject(ctx, in)
			})
		}
	}
	r.addParts(get)
}

// errAnswered says that the answer has been given.
var errAnswered = fmt.Errorf("answered")

// insertMedia is the action InsertMedia of a slot.
func insertMedia(ctx context.Context, s *System, in *slot, w http.ResponseWriter, req *http.Request) error {
	var body struct {
		Image, UserName, Password, TransferMethod, TransferProtocolType string
		Inserted, WriteProtected                                        *bool
	}
	if !readBody(w, req, &body) {
		return errAnswered
	}
	switch {
	case body.Image == "":
		answerError(w, http.StatusBadRequest, "ActionParameterMissing", "Image: write the URL of the image")
		return errAnswered
	case body.WriteProtected != nil && !*body.WriteProtected:
		return &InputError{"WriteProtected", "a " + in.noun + " cannot be written to: leave WriteProtected out or write true"}
	case body.Inserted != nil && !*body.Inserted:
		return &InputError{"Inserted", "what is inserted is in the drive: leave Inserted out or write true"}
	}
	return s.Insert(ctx, in, Medium{URL: body.Image, User: body.UserName, Password: body.Password})
}

// changeSystem is PATCH of a system.
func (r *service) changeSystem(w http.ResponseWriter, req *http.Request) {
	s, v, ok := r.findSystem(w, req)
	if !ok || isStale(w, req, describeSystem(s, v)) {
		return
	}
	var body struct {
		Boot *struct {
			Enabled *string `json:"BootSourceOverrideEnabled"`
			Target  *Target `json:"BootSourceOverrideTarget"`
			Mode    *string `json:"BootSourceOverrideMode"`
		}
		IndicatorLED *string
	}
	if !readBody(w, req, &body) {
		return
	}
	if body.Boot == nil && body.IndicatorLED == nil {
		answerError(w, http.StatusBadRequest, "PropertyUnknown", "only Boot and IndicatorLED can be changed")
		return
	}
	var err error
	if b := body.Boot; b != nil {
		// What is left out stays; a target alone is for one boot.
		enabled, target := v.Boot.Enabled, v.Boot.Target
		if b.Target != nil {
			target = *b.Target
			if enabled == Disabled {
				enabled = Once
			}
		}
		if b.Enabled != nil {
			enabled = *b.Enabled
		}
		if b.Mode != nil && *b.Mode != modeOf(v) {
			err = &InputError{"BootSourceOverrideMode", fmt.Sprintf("the machine's firmware boots in mode %s alone", modeOf(v))}
		}
		if err == nil && (b.Target != nil || b.Enabled != nil) {
			err = s.SetBoot(req.Context(), enabled, target)
		}
	}
	if err == nil && body.IndicatorLED != nil {
		err = s.SetLED(req.Context(), *body.IndicatorLED)
	}
	if err == nil {
		v, err = s.View(req.Context())
	}
	if err != nil {
		failWith(w, err)
		return
	}
	replyTagged(w, req, describeSystem(s, v))
}

// changeSecureBoot is PATCH of a system's SecureBoot.
func (r *service) changeSecureBoot(w http.ResponseWriter, req *http.Request) {
	s, v, ok := r.findSystem(w, req)
	if !ok {
		return
	}
	var body struct{ SecureBootEnable *bool }
	if !readBody(w, req, &body) {
		return
	}
	if body.SecureBootEnable == nil {
		answerError(w, http.StatusBadRequest, "PropertyUnknown", "only SecureBootEnable can be changed")
		return
	}
	if err := v.CheckSecureBoot(*body.SecureBootEnable); err != nil {
		failWith(w, err)
		return
	}
	replyTagged(w, req, describeSecureBoot(s, v))
}

// modeOf is how a machine's firmware boots, in Redfish's words.
func modeOf(v View) string {
	if v.UEFI {
		return "UEFI"
	}
	return "Legacy"
}

func powerState(v View) string {
	if v.On {
		return "On"
	}
	return "Off"
}

// describeSystem is the document of a system.
func describeSystem(s *System, v View) object {
	path := root + "/Systems/" + s.ID
	targets := []Target{None, Pxe, Hdd, Cd}
	if v.UEFI {
		targets = append(targets, UefiHTTP)
	}
	firmware := "SeaBIOS"
	if v.UEFI {
		firmware = "OVMF"
	}
	return newResource(path, "ComputerSystem.v1_10_0.ComputerSystem", s.ID, v.Name, object{
		"UUID": v.UUID, "SystemType": "Virtual", "Manufacturer": "QEMU", "Model": v.Chipset, "SerialNumber": v.UUID, "HostName": v.Name,
		"PowerState": powerState(v), "BiosVersion": firmware + " of " + v.Chipset, "IndicatorLED": v.LED, "Status": healthy,
		"Boot": object{
			"BootSourceOverrideEnabled": v.Boot.Enabled, "BootSourceOverrideTarget": v.Boot.Target, "BootSourceOverrideMode": modeOf(v),
			"BootSourceOverrideTarget@Redfish.AllowableValues": targets, "BootSourceOverrideMode@Redfish.AllowableValues": []string{modeOf(v)},
		},
		"MemorySummary":    object{"TotalSystemMemoryGiB": float64(v.MemoryMiB) / 1024, "Status": healthy},
		"ProcessorSummary": object{"Count": 1, "LogicalProcessorCount": v.VCPUs, "Status": healthy},
		"Processors":       linkTo(path + "/Processors"), "EthernetInterfaces": linkTo(path + "/EthernetInterfaces"),
		"Storage": linkTo(path + "/Storage"), "SimpleStorage": linkTo(path + "/SimpleStorage"), "Bios": linkTo(path + "/Bios"),
		"SecureBoot": linkTo(path + "/SecureBoot"), "VirtualMedia": linkTo(path + "/VirtualMedia"),
		"Links": object{"ManagedBy": linksTo(root + "/Managers/" + s.ID), "Chassis": linksTo(root + "/Chassis/" + s.ID)},
		"Actions": object{"#ComputerSystem.Reset": object{
			"target": path + "/Actions/ComputerSystem.Reset", "ResetType@Redfish.AllowableValues": Actions,
		}},
	})
}

// describeManager is the document of a system's controller: this program.
func (r *service) describeManager(s *System) object {
	path := root + "/Managers/" + s.ID
	return newResource(path, "Manager.v1_5_0.Manager", s.ID, "Controller of "+s.ID, object{
		"ManagerType": "BMC", "FirmwareVersion": version, "Model": "virtcluster", "UUID": r.uuid, "PowerState": "On", "Status": healthy,
		"VirtualMedia":  linkTo(path + "/VirtualMedia"),
		"SerialConsole": object{"ServiceEnabled": true, "MaxConcurrentSessions": 1, "ConnectTypesSupported": []string{"IPMI"}},
		"Links":         object{"ManagerForServers": linksTo(root + "/Systems/" + s.ID), "ManagerForChassis": linksTo(root + "/Chassis/" + s.ID)},
	})
}

// describeMedium is the document of a slot. What is in it is a copy of an image, which nobody writes back: it is write-protected.
func describeMedium(path string, in *slot, v View) object {
	doc := object{
		"MediaTypes": in.mediaTypes, "Inserted": v.Inserted[in.id] != "", "WriteProtected": true, "Image": nil, "ImageName": nil, "ConnectedVia": "NotConnected",
		"TransferProtocolType": nil,
		"Actions": object{
			"#VirtualMedia.InsertMedia": object{"target": path + "/Actions/VirtualMedia.InsertMedia"},
			"#VirtualMedia.EjectMedia":  object{"target": path + "/Actions/VirtualMedia.EjectMedia"},
		},
	}
	if image := v.Inserted[in.id]; image != "" {
		image = cmp.Or(v.Media[in.id].URL, image)
		doc["Image"], doc["ImageName"], doc["ConnectedVia"] = image, image[strings.LastIndexByte(image, '/')+1:], "URI"
	}
	return newResource(path, "VirtualMedia.v1_3_0.VirtualMedia", in.id, in.name, doc)
}
