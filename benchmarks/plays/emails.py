"""The work of the measures: an e-mail of one of two providers, asked in turn."""

from runtime import play


@play(
    "bench_emails",
    input_schema={
        "type": "object",
        "properties": {"leads": {"type": "string", "format": "upload"}},
    },
)
async def bench_emails(ctx, input):
    leads = await ctx.csv(input["leads"])
    return await (
        ctx.map("leads", leads, key=["first_name", "last_name", "domain"])
        .step("email", find_email)
        .run()
    )


def find_email(row, ctx):
    person = {name: row[name] for name in ("first_name", "last_name", "domain")}
    return ctx.waterfall("email_finder", person, providers=["sandbox_a", "sandbox_b"])
