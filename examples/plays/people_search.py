"""Searches people at every company, then looks up a mobile number for each person.

One company gives several people, so the rows of the second map are not those of the first: the first
map finds a list per company, and the second one runs over the flattened lists.
"""

from runtime import play, when

INPUT = {
    "type": "object",
    "properties": {
        "companies": {
            "type": "string",
            "format": "upload",
            "title": "Companies",
            "description": "A CSV file with the column domain.",
        },
        "title": {
            "type": "string",
            "title": "Job title",
            "description": "Whom to look for at each company.",
            "default": "Head of Sales",
        },
        "people_per_company": {
            "type": "integer",
            "title": "People per company",
            "minimum": 1,
            "maximum": 5,
            "default": 3,
        },
        "mobiles": {
            "type": "boolean",
            "title": "Find mobile numbers",
            "default": True,
        },
    },
    "required": ["companies"],
}


# What is kept of a person, in the order of the columns.
PERSON = ("first_name", "last_name", "title", "linkedin_url")


async def people_of(companies):
    """Give one row per person, with the company's domain beside what is known of the person.

    A generator: the rows are made while the map takes them, so a million of them need no memory.
    """
    async for company in companies:
        for person in company["people"] or []:
            yield {"domain": company["domain"], **{name: person[name] for name in PERSON}}


async def find_mobile(row, ctx):
    """Ask for a mobile number by the person's profile."""
    return await ctx.waterfall(
        "mobile_finder",
        {"linkedin_url": row["linkedin_url"]},
        providers=["sandbox"],
    )


@play(
    "people_search",
    description="Find people with a given job title at every company, and their mobile numbers",
    input_schema=INPUT,
)
async def people_search(ctx, input):
    title = input.get("title", "Head of Sales")
    limit = input.get("people_per_company", 3)
    wants_mobiles = input.get("mobiles", True)

    async def search(row, ctx):
        result = await ctx.tools.execute(
            id="search",
            tool="sandbox_people_search",
            input={"domain": row["domain"].strip().lower(), "title": title, "limit": limit},
        )
        # list() reads the list that the tool declares; it is empty where nobody was found.
        return result.list("people")

    companies = await (
        ctx.map("companies", await ctx.csv(input["companies"]), key="domain")
        .step("people", search)
        .run(description="Search people at every company")
    )

    return await (
        # Two companies may give people with the same profile; domain and profile together are unique.
        ctx.map("people", people_of(companies), key=["domain", "linkedin_url"])
        .step("name", lambda row: f"{row['first_name']} {row['last_name']}")
        .step("mobile", when(lambda row: wants_mobiles, run=find_mobile))
        .run(description="Find a mobile number for every person")
    )
