"""Rows that ask nobody: three steps of plain code."""

from runtime import play


@play(
    "bench_pure",
    input_schema={
        "type": "object",
        "properties": {"leads": {"type": "string", "format": "upload"}},
    },
)
async def bench_pure(ctx, input):
    leads = await ctx.csv(input["leads"])
    return await (
        ctx.map("leads", leads, key=["first_name", "last_name", "domain"])
        .step("name", lambda row: f"{row['first_name']} {row['last_name']}")
        .step("site", lambda row: row["domain"].upper())
        .step("length", lambda row: len(row["name"]))
        .run()
    )
