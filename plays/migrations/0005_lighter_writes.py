from django.db import migrations


class Migration(migrations.Migration):

    dependencies = [
        ('plays', '0004_trace_steps'),
    ]

    operations = [
        migrations.RemoveIndex(
            model_name='rowstate',
            name='row_changed_since',
        ),
        # A settlement finds room on the page of its claim, and then writes no index again.
        migrations.RunSQL(
            'ALTER TABLE plays_toolcall SET (fillfactor = 50)',
            'ALTER TABLE plays_toolcall RESET (fillfactor)',
        ),
    ]
