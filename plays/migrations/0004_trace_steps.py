from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('plays', '0003_answers'),
    ]

    operations = [
        # Nothing has written these yet, and steps without a key could not be told apart.
        migrations.RunSQL('DELETE FROM plays_tracestep', migrations.RunSQL.noop),
        migrations.RemoveField(
            model_name='tracestep',
            name='step',
        ),
        migrations.AddField(
            model_name='tracestep',
            name='counts',
            field=models.JSONField(default=dict),
        ),
        migrations.AddField(
            model_name='tracestep',
            name='key',
            field=models.CharField(default='', max_length=32),
            preserve_default=False,
        ),
        migrations.AddField(
            model_name='tracestep',
            name='parent',
            field=models.CharField(blank=True, default='', max_length=32),
            preserve_default=False,
        ),
        migrations.AddField(
            model_name='tracestep',
            name='results',
            field=models.JSONField(default=list),
        ),
        migrations.AddField(
            model_name='tracestep',
            name='told',
            field=models.JSONField(default=dict),
        ),
        migrations.AddConstraint(
            model_name='tracestep',
            constraint=models.UniqueConstraint(fields=('run', 'key'), name='one_trace_step_of_a_key'),
        ),
    ]
