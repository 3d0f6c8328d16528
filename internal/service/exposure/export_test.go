package exposure

// What the acceptance test, which is outside of the package, tries on the kernel.
var (
	RenderTable  = renderTable
	DrawExposure = draw
)

// Table is the provider's own.
const Table = table
