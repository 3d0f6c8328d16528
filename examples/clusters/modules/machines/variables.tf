variable "machines" {
  description = "The service machines by name: their address inside and outside, the priority with which they hold virtual addresses, and the fingerprint of their SSH host key (ssh-keyscan -t ed25519 ADDRESS | ssh-keygen -lf -), without which much of the first plan is known after apply only."
  type = map(object({
    address  = string
    outside  = string
    priority = number
    host_key = optional(string)
  }))
}

variable "inside" {
  description = "Networks that machines inside ask from."
  type        = list(string)
}

variable "outside" {
  description = "The network outside that the machines have addresses in: who asks there learns outside addresses."
  type        = string
}
