"""Turns domains into company facts, and the facts into segments, in two chained maps.

The first map asks a provider; the second only computes. They are two so that the rules of the segments
can change without anything being asked again: the second map starts from what the first one stored.
"""

from runtime import play, steps, when

INPUT = {
    "type": "object",
    "properties": {
        "companies": {
            "type": "string",
            "format": "upload",
            "title": "Companies",
            "description": "A CSV file with the column domain.",
        },
        "enterprise_from": {
            "type": "integer",
            "title": "Enterprise from",
            "description": "How many employees make a company an enterprise.",
            "minimum": 1,
            "default": 1000,
        },
    },
    "required": ["companies"],
}

# Segments by size, the largest first: the first bound that is reached gives the name.
SIZES = [(100, "mid-market"), (0, "small business")]


async def facts(row, ctx):
    """Ask for name, number of employees and industry; None where the provider knows nothing."""
    result = await ctx.tools.execute(
        id="facts",
        tool="sandbox_company_enrichment",
        input={"domain": row["domain"].strip().lower()},
    )
    return result.value("company")


def segment_of(employees, enterprise_from):
    """Name the segment of a number of employees."""
    if employees >= enterprise_from:
        return "enterprise"
    return next(name for bound, name in SIZES if employees >= bound)


@play(
    "company_segments",
    description="Look up every company by its domain, then sort the companies into segments",
    input_schema=INPUT,
)
async def company_segments(ctx, input):
    enterprise_from = input.get("enterprise_from", 1000)

    companies = await (
        ctx.map("companies", await ctx.csv(input["companies"]), key="domain")
        .step("company", facts)
        .run(description="Look up company facts")
    )

    # steps() is a small program of its own: its steps see one another, and what returns() gives is the
    # value of the whole. The intermediate values never become columns.
    segment = (
        steps()
        .step("size", lambda row: segment_of(row["company"]["employees"], enterprise_from))
        .step("industry", lambda row: row["company"]["industry"].lower())
        .returns(lambda row: f"{row['size']} / {row['industry']}")
    )

    return await (
        # A dataset can be the rows of the next map; no row is held in memory in between.
        ctx.map("segments", companies, key="domain")
        .step("segment", when(lambda row: row["company"], run=segment, otherwise="unknown"))
        .run(description="Sort companies into segments")
    )
