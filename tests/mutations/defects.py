"""Old defects of engines of this kind, each as a change of one place of the engine that brings it back."""

from __future__ import annotations

from dataclasses import dataclass

RULES = "tests/unit/runtime/rules/test_rules_"
UNIT = "tests/unit/runtime/test_"


@dataclass(frozen=True, slots=True)
class Defect:
    """``old`` stands once in ``file``; with ``new`` in its place ``test`` must fail."""

    name: str
    test: str
    file: str
    old: str
    new: str


DEFECTS = [
    Defect(
        "calls beyond the permits fail",
        f"{RULES}tools.py::test_more_rows_than_permits_wait_and_neither_fail_nor_miss",
        "lanes.py",
        "        lane = self._lane(spec)\n        call = ",
        "        if not self._permits.may_take(spec.id):\n"
        "            return Failed('too many calls at once', 'concurrency')\n"
        "        lane = self._lane(spec)\n        call = ",
    ),
    Defect(
        "a row's place leaks into its child play",
        f"{UNIT}durable.py::test_a_child_play_in_a_row_stands_at_its_own_top_level",
        "children.py",
        "current.set(Scope(child.standing.place, caller=current.get()))",
        "current.set(current.get())",
    ),
    Defect(
        "the input is no part of a call's name",
        f"{RULES}waterfalls.py::test_two_waterfalls_of_one_name_at_once_both_get_their_answers",
        "identity.py",
        "told = hashlib.sha256(canonical_bytes(call_input)).hexdigest()[:32]",
        "told = ''",
    ),
    Defect(
        "failed work is kept as done",
        f"{UNIT}durable.py::test_a_failed_step_is_tried_again",
        "receipts.py",
        "receipts.fail(work.name, describe(error))",
        "receipts.complete(work.name, describe(error))",
    ),
    Defect(
        "a failed call of a waterfall is a miss",
        f"{RULES}waterfalls.py::test_every_reason_is_told_where_nobody_had_a_value",
        "waterfalls.py",
        "return Answer(failure=outcome.message, ",
        "return Answer(failure='' and outcome.message, ",
    ),
    Defect(
        "a used-up limit goes on to the next provider",
        f"{RULES}waterfalls.py::test_a_used_up_limit_is_no_reason_to_ask_the_next",
        "lanes.py",
        "if isinstance(outcome, Failed) and self._halt.trip_for(outcome):",
        "if False:",
    ),
    Defect(
        "too few values are lost",
        f"{RULES}inline.py::test_too_few_values_are_kept_at_the_top_and_beside_a_failure",
        "waterfalls.py",
        "            cell.is_partial = True\n        return found\n",
        "            cell.is_partial = True\n        return None\n",
    ),
    Defect(
        "a row that waits counts as completed",
        f"{UNIT}waits.py::test_a_row_that_waits_shows_so_and_the_others_go_on",
        "maps.py",
        "recorder.row(row, RowStatus.WAITING, wake_at=row.wake_at)",
        "recorder.row(row, RowStatus.COMPLETED)",
    ),
    Defect(
        "work that a pause interrupts is recorded as failed",
        f"{UNIT}children.py::test_work_that_a_pause_interrupts_stays_claimed",
        "receipts.py",
        "    except Exception as error:",
        "    except BaseException as error:",
    ),
    Defect(
        "rows that a retry leaves out vanish",
        f"{RULES}maps.py::test_rows_that_a_retry_leaves_out_are_in_its_result_as_they_were",
        "datasets.py",
        "for stored in page]",
        "for stored in page if stored['status'] == 'completed']",
    ),
    Defect(
        "a refused claim does the work",
        f"{UNIT}children.py::test_a_refused_claim_never_does_the_work",
        "receipts.py",
        "            raise PlayError(f\"{work.told}: {receipt['error']}\")",
        "            pass",
    ),
    Defect(
        "different operations of one name share a receipt",
        f"{UNIT}children.py::test_a_step_a_tool_and_a_child_of_one_name_have_receipts_of_their_own",
        "toolcalls.py",
        'name = call_name(f"{scope.place}/tool", f"{key}:{spec.id}", call_input)',
        'name = f"{scope.place}/step/{key}"',
    ),
    Defect(
        "children are counted per parent only",
        f"{UNIT}children.py::test_one_count_holds_for_the_whole_tree",
        "memory/children.py",
        "whole = run.children.total()",
        'whole = run.children[child["parent"]]',
    ),
    Defect(
        "a child's name depends on the order in which children start",
        f"{UNIT}children.py::test_a_child_is_known_by_key_and_input_and_not_by_its_order",
        "children.py",
        'place = call_name(f"{scope.place}/play", f"{key}:{name}", given)',
        'place = f"{scope.place}/play/{parent.session.recorder.statistics().entries}"'
        ' + str(parent.__dict__.setdefault("n", []).append(1) or len(parent.n))',
    ),
    Defect(
        "misses of all providers end as completed",
        f"{UNIT}waterfalls.py::test_definite_misses_of_all_are_a_missed_cell",
        "fields.py",
        "        return CellStatus.MISSED\n",
        "        return CellStatus.COMPLETED\n",
    ),
    Defect(
        "a skipped field ends as completed",
        f"{UNIT}maps.py::test_a_condition_that_does_not_hold_ends_as_skipped",
        "fields.py",
        "        return CellStatus.SKIPPED\n",
        "        return CellStatus.COMPLETED\n",
    ),
    Defect(
        "a whole object is a hit of a scalar output",
        f"{RULES}values.py::test_a_whole_person_is_no_email",
        "tools.py",
        'if name == spec.output and spec.output_kind != "scalar" and is_meaningful(result):',
        "if is_meaningful(result):\n        return result\n    if False:",
    ),
    Defect(
        "blank text from code is a hit",
        f"{RULES}inline.py::test_a_blank_value_is_a_miss_from_a_tool_and_from_code_alike",
        "waterfalls.py",
        "return [value] if is_meaningful(value) else []",
        "return [value] if value is not None else []",
    ),
    Defect(
        "a digest is a weak rolling hash",
        f"{RULES}values.py::test_texts_that_collide_in_a_weak_hash_are_told_apart",
        "values.py",
        "return hashlib.sha256(canonical_bytes(value)).hexdigest()",
        "n = 0\n    for byte in canonical_bytes(value):\n"
        "        n = (n * 31 + byte) % 2**32\n    return f'{n:064x}'",
    ),
    Defect(
        "a step's value is not checked",
        f"{RULES}values.py::test_a_value_that_json_cannot_hold_is_refused_with_the_steps_name",
        "durable.py",
        "return check_json(value, where)",
        "return value",
    ),
    Defect(
        "a repeated step name takes the first one's place",
        f"{RULES}maps.py::test_no_step_of_a_map_takes_the_place_of_another",
        "program.py",
        "if any(step.name == name for step in self.steps):",
        "if False:",
    ),
    Defect(
        "a key function always gets index 0",
        f"{RULES}maps.py::test_a_key_function_gets_the_true_index_on_every_page_and_in_messages",
        "keys.py",
        "given = self._function(row, position)",
        "given = self._function(row, 0)",
    ),
    Defect(
        "equal rows collapse into one",
        f"{UNIT}maps.py::test_equal_rows_without_a_key_all_stay",
        "memory/rows.py",
        'row.key = f"{row.key}#{number}"',
        "held.rows.pop(row.position)",
    ),
    Defect(
        "a known row comes with hidden fields",
        f"{RULES}maps.py::test_a_known_row_comes_with_its_whole_input_and_nothing_hidden",
        "datasets.py",
        "return {name: values[name] if name in values else given.get(name) for name in columns}",
        "return {**given, **values}",
    ),
    Defect(
        "a code step runs again after a crash",
        f"{UNIT}waterfalls.py::test_a_code_step_runs_once_across_a_takeover",
        "durable.py",
        "    if name in row.entries:\n",
        "    if name.startswith('never'):\n",
    ),
    Defect(
        "a waterfall at the top stops at a failing step",
        f"{RULES}inline.py::test_a_failing_step_goes_on_to_the_next_at_the_top_and_in_a_row",
        "waterfalls.py",
        "return Answer(failure=outcome.message, ",
        "raise PlayError(outcome.message)\n            return Answer('', ",
    ),
    Defect(
        "a recovered result says that it is live",
        f"{UNIT}durable.py::test_a_top_level_tool_call_has_a_receipt",
        "toolcalls.py",
        'return Hit(output["result"], "cache", 0.0, output["call"])',
        'return Hit(output["result"], "live", 0.0, output["call"])',
    ),
    Defect(
        "the input is no part of a top-level call's name",
        f"{RULES}tools.py::test_a_call_at_the_top_is_known_by_its_id_and_input_in_any_order",
        "toolcalls.py",
        'name = call_name(f"{scope.place}/tool", f"{key}:{spec.id}", call_input)',
        'name = f"{scope.place}/tool/{key}:{spec.id}"',
    ),
    Defect(
        "a step's name does not hold its field",
        f"{RULES}tools.py::test_one_step_name_in_two_fields_is_two_steps_whichever_is_reused",
        "fields.py",
        'Scope(f"{row.place}/{field.name}", row, progress, life=life)',
        "Scope(row.place, row, progress, life=life)",
    ),
    Defect(
        "a code step runs outside its row",
        f"{RULES}inline.py::test_a_code_step_runs_in_its_row",
        "waterfalls.py",
        "            result = await durable.kept(session, name, where, lambda: step.run(call_input, ctx))\n",
        "            from runtime.scope import Scope\n"
        "            token = current.set(Scope('top'))\n"
        "            result = await durable.kept(session, name, where, lambda: step.run(call_input, ctx))\n"
        "            current.reset(token)\n",
    ),
    Defect(
        "the columns after the one that was enough are told twice",
        f"{RULES}inline.py::test_the_steps_after_the_one_that_was_enough_are_told_as_skipped_once",
        "waterfalls.py",
        "            for left in steps[index + 1 :]:\n",
        "            await session.recorder.committed()\n"
        "            for left in steps[index + 1 :]:\n"
        "                _tell(left, CellStatus.SKIPPED)\n"
        "                await session.recorder.committed()\n",
    ),
    Defect(
        "a row's key is made again of its output",
        f"{RULES}rows.py::test_a_row_that_comes_back_with_its_fields_filled_is_the_same_row",
        "identity.py",
        "    without = set(computed)\n",
        "    without = set()\n",
    ),
]
