"""Finds a work e-mail for every lead, and verifies the addresses that were found.

The play reads a file with the columns `first_name`, `last_name` and `domain`; other columns are kept
as they are. It asks three providers in turn and stops at the first that has an address, so a dear
provider is asked only about the people whom the cheap ones do not know.
"""

from runtime import play, when

# The order is the order of asking: cheap providers with many hits first.
PROVIDERS = ["sandbox_a", "sandbox_b", "sandbox_c"]

# JSON Schema of the run's input. The form for a new run is made from it.
INPUT = {
    "type": "object",
    "properties": {
        "leads": {
            "type": "string",
            "format": "upload",
            "title": "Leads",
            "description": "A CSV file with the columns first_name, last_name and domain.",
        },
    },
    "required": ["leads"],
}


def clean_domain(row):
    """Bring a domain into the form that providers know: no capitals, no blanks, no "www."."""
    return row["domain"].strip().lower().removeprefix("www.")


def find_email(row, ctx):
    """Ask the providers in turn; the value is the first address found, or None.

    The function gives the call itself back, without `await`: the engine waits for it, and in the
    meantime gathers the same question of other rows into one request.
    """
    return ctx.waterfall(
        "email_finder",
        {
            "first_name": row["first_name"],
            "last_name": row["last_name"],
            "domain": row["_domain"],
        },
        providers=PROVIDERS,
    )


async def verify(row, ctx):
    """Ask whether mail to the address would arrive: `valid`, `catch_all` or `invalid`."""
    result = await ctx.tools.execute(
        id="verify",
        tool="sandbox_email_verifier",
        input={"email": row["email"]},
    )
    return result.value("verdict")


@play(
    "email_waterfall",
    description="Find a work e-mail for every lead with three providers in turn, then verify it",
    input_schema=INPUT,
)
async def email_waterfall(ctx, input):
    leads = await ctx.csv(input["leads"])
    return await (
        # The key says what makes a row the same row in the next run, whatever its position.
        ctx.map("leads", leads, key=["first_name", "last_name", "domain"])
        # A name that begins with "_" is computed and left out of the output.
        .step("_domain", clean_domain)
        .step("email", find_email)
        # Only rows with an address are verified; the others show "no email" and cost nothing.
        .step(
            "verdict",
            when(lambda row: row["email"] is not None, run=verify, otherwise="no email"),
        )
        .run(description="Find and verify e-mails")
    )
