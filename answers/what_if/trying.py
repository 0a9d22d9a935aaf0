"""One object after the other: its quota first, then its nodes, then its victims."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import msgspec

from answers.picture import Picture
from answers.what_if.admission import RESOURCE_TOLERATIONS, admitted_sets, is_changed_by, tolerating
from answers.what_if.claims import Claim, claims_of, is_resumed
from answers.what_if.granted import Granted
from answers.what_if.step import RUNS, Step
from answers.what_if.units import Unit
from answers.what_if.workloads import supposed_pods, workload_of
from answers.withholding import Reader
from api.groups import SCHEDULING_GATE, PodGroup
from api.integration import ADMISSION_GATE
from api.may_name import OTHER_NAMESPACE
from api.progress import Progress, going_through
from api.times import rfc3339_micro
from api.unmodelled import UNKNOWN, doubted
from api.validation import FieldError
from api.waits import Wait
from api.words import counted, listed
from api.workloads import Workload
from controllers.jobs.owned_workload import Classes, JobError
from nodes.answers.consequences import Tried, consequences, submit, without_pods
from nodes.answers.picture import NodesPicture
from nodes.answers.plan_words import victims_of
from nodes.groups.kinds.kind import Held
from nodes.groups.made_pods import MadePods
from nodes.search.preemptors.preemptor import DecisionError
from nodes.search.preemptors.supposed import SupposedPods, WorkloadName
from quota.answers.picture import OwnQuota, QuotaPicture
from quota.answers.trial import admitted, waiting_again
from quota.answers.waits import Around, Outcome, outcome_of, why_workload_waits
from quota.cycle.pod_set_infos import PodSetConflict, PodSetInfo, pod_set_infos
from quota.state.amounts import QuotaError

__all__ = ["Trying"]


class Trying:
    """Each object finds the state that those before it have left, also if they came to nothing in the end."""

    def __init__(self, picture: Picture, nodes: NodesPicture, reader: Reader, progress: Progress) -> None:
        """`nodes`: those of the picture, with the PodGroups that are submitted. `progress` is called for each claim of
        quota, too: there may be thousands."""
        self._picture, self._nodes, self._reader, self._progress = picture, nodes, reader, progress
        self._snapshot = nodes.snapshot
        self._quota: QuotaPicture = picture.quota
        self._without: Trying | None = None
        """The same, without the objects that are Unknown; None if there are none."""
        self._unknown = ""
        """The first of them."""

    def step(self, unit: Unit) -> Step:
        """What becomes of the object. It is Unknown if it hangs on an earlier one that is Unknown."""
        before = self._snapshot, self._quota
        found = self._step(unit)
        if self._without is not None:
            there = self._without
            snapshot, quota = there._snapshot, there._quota
            other = there._step(unit)
            if found.outcome != UNKNOWN and (other.outcome, other.running) != (found.outcome, found.running):
                says = (
                    f"It is not known, because that of {self._unknown} is not. If that runs: {found.sentence}"
                )
                found = replace(found, outcome=UNKNOWN, sentence=says)
            if found.outcome == UNKNOWN:
                there._snapshot, there._quota = snapshot, quota
        elif found.outcome == UNKNOWN:
            self._without = Trying(self._picture, self._nodes, self._reader, self._progress)
            self._unknown = f"{unit.kind} {unit.name}"
            self._without._snapshot, self._without._quota = before
        return found

    def _step(self, unit: Unit) -> Step:
        bare = Step(unit.kind, unit.name, unit.pods, "", "")
        if unit.problem is not None:
            return replace(bare, outcome=unit.problem[0], sentence=unit.problem[1])
        try:
            claims = [*claims_of(unit)]
            if unit.held is not None and not is_resumed(unit):
                return replace(bare, outcome="Suspended", sentence=_held(unit.held))
            return self._with_quota(unit, claims, bare) if claims else self._placed(unit, bare, {})
        except (JobError, QuotaError, PodSetConflict, DecisionError, FieldError) as error:
            return replace(bare, outcome="Misconfigured", sentence=f"{self._said(error)}.")

    def _said(self, error: ValueError) -> str:
        """What is wrong. A Workload of somebody else is named only to a reader who may know its name."""
        kind, _, name = (error.subject if isinstance(error, QuotaError) else "").partition(" ")
        if kind != "Workload" or self._reader.may_name("Workload", name.partition("/")[0]):
            return str(error)
        return f"a Workload {OTHER_NAMESPACE} cannot be counted"

    @property
    def _now(self) -> str:
        return rfc3339_micro(self._picture.moment / 1_000_000)

    # ---- quota

    def _with_quota(self, unit: Unit, claims: Sequence[Claim], bare: Step) -> Step:
        """One claim after the other. A claim that is like one that waits would wait, too."""
        self._quota = quota = self._quota.own()
        granted, waits, again, unsure = Granted(), dict[str, Wait](), list[Wait](), dict[str, None]()
        shown: Outcome | None = None
        for claim in going_through(claims, "asking for quota", self._progress):
            if claim.alike and claim.alike in waits:
                continue
            outcome, holder, evicted = self._claim(claim, quota)
            shown = outcome if shown is None or outcome.preempts else shown
            again += evicted
            unsure |= dict.fromkeys(outcome.not_modelled)
            if holder is None:
                waits[claim.alike] = outcome.wait()
            else:
                granted.add(claim, pod_set_infos(holder, self._quota.flavors))
        bare = replace(bare, quota_consequences=tuple(again))
        if not waits:
            bare = replace(bare, quota=shown.wait() if shown is not None else None)
            whole = replace(unit, sets=self._all_of(unit, claims, granted))
            return self._placed(whole, bare, granted.infos, (*unsure,))
        wait = next(iter(waits.values()))
        bare = replace(bare, quota=wait)
        sets = self._all_of(unit, claims, granted)
        if not any(each.count for each in sets):
            if open_ := next((each for each in waits.values() if each.not_modelled), None):
                names = open_.not_modelled
                return replace(bare, outcome=UNKNOWN, sentence=open_.sentence, not_modelled=names)
            says = f"It waits for quota, and its pods are not created. {wait.sentence}"
            return replace(bare, outcome="WaitsForQuota", sentence=says)
        part = replace(unit, sets=sets)
        step = self._placed(part, bare, granted.infos, (*unsure,))
        left = unit.pods - part.pods
        waits_too = "it waits" if left == 1 else "they wait"
        says = f"{step.sentence} There is no quota for {counted(left, 'more pod')}, so {waits_too}. {wait.sentence}"
        return replace(step, outcome="RunsInPart" if step.outcome in RUNS else step.outcome, sentence=says)

    def _all_of(self, unit: Unit, claims: Sequence[Claim], granted: Granted) -> list[MadePods]:
        """The pods that are created: those with quota, and those that need none."""
        asked = {each.name for claim in claims for each in claim.sets}
        others = (replace(each, pod_set="") for each in unit.sets if each.name not in asked)
        return [*others, *granted.sets]

    def _claim(self, claim: Claim, quota: OwnQuota) -> tuple[Outcome, Workload | None, list[Wait]]:
        """What the quota plane says, the Workload if it gets quota, and what becomes of those that lose theirs.

        `quota` has the Workload from then on, and what it takes."""
        classes = Classes(self._picture.workload_classes, self._snapshot.priority_classes)
        workload = workload_of(claim, classes, self._now)
        quota.put(workload)
        outcome = outcome_of(workload, self._around(quota))
        decision = outcome.decision
        if decision is None or not outcome.gets_quota:
            return outcome, None, []
        holder = admitted(workload, decision, self._now)
        targets = [target.holder.workload for target in decision.targets]
        quota.put(holder, *map(waiting_again, targets))
        if not targets:
            return outcome, holder, []
        around = self._around(quota)
        may_name = self._reader.may_name
        known = [each for each in targets if may_name("Workload", each.metadata.namespace)]
        again = [why_workload_waits(waiting_again(each), around) for each in known]
        gone = [uid for each in targets for uid in self._pods_of(each)]
        self._snapshot = without_pods(self._snapshot, gone)
        return outcome, holder, again

    def _around(self, quota: OwnQuota) -> Around:
        picture = self._picture
        return Around(
            quota,
            picture.moment,
            (),
            picture.namespaces,
            unread=picture.without_quota,
            told=self._reader.told,
            places=quota.places(),
        )

    def _pods_of(self, workload: Workload) -> list[str]:
        """UIDs of the pods that end when the Workload loses its quota."""
        nodes, rows = self._nodes, set[int]()
        for owner in workload.metadata.owner_references or ():
            rows.update(nodes.controlled(owner.uid))
            if owner.kind == "PodGroup":
                rows.update(nodes.members((workload.metadata.namespace, owner.name)))
            elif owner.kind == "Pod" and (row := nodes.snapshot.pod_rows.get(owner.uid)) is not None:
                rows.add(row)
            rows.update(nodes.grouped(workload.metadata.namespace, owner))
        return [nodes.snapshot.pod_uids[row] for row in sorted(rows)]

    # ---- nodes

    def _placed(
        self, unit: Unit, bare: Step, infos: Mapping[str, PodSetInfo], unsure: Sequence[str] = ()
    ) -> Step:
        """What becomes of the pods that are there together, and of those that come when others have ended.

        `unsure`: what is not modelled of their quota.
        """
        admission = admitted_sets(unit.sets, self._picture.quota.surroundings)
        if admission.refusals:
            refused = f"The API server would refuse its pods: {'; '.join(admission.refusals)}."
            return replace(bare, outcome="Misconfigured", sentence=refused)
        unit = replace(unit, sets=admission.sets)
        last = [each for each in unit.sets if each.after is not None and each.after.gone and each.count]
        before = self._snapshot
        step = self._on_nodes(
            replace(unit, sets=[each for each in unit.sets if each not in last]),
            bare,
            infos,
            unsure,
            admission.unknown,
        )
        says = [step.sentence, *_remarks(unit, step.outcome)]
        for sets in _in_stages(last):
            if step.outcome not in RUNS:
                break
            name = WorkloadName(unit.api_version, unit.meta.namespace, unit.meta.name, unit.meta.uid)
            pods = supposed_pods(sets, infos, self._nodes)
            tried = submit(before, name, pods, None, self._reader.decision)
            says.append(_later(sets, tried))
            step = step if tried.running == tried.pods else replace(step, outcome="RunsInPart")
            if tried.doubts:
                says = [doubted(" ".join(says), tried.doubts)]
                step = replace(step, outcome=UNKNOWN, not_modelled=tried.doubts)
        return replace(step, sentence=" ".join(says))

    def _on_nodes(
        self,
        unit: Unit,
        bare: Step,
        infos: Mapping[str, PodSetInfo],
        unsure: Sequence[str],
        unknown: Sequence[str],
    ) -> Step:
        """`unsure`: what is not modelled of its quota. Without nodes it waits in any case. `unknown`: what is not known
        of the admission of its pods."""
        if unread := self._picture.without_nodes:
            says = f"The search was not asked: {unread}."
            return replace(bare, outcome="NotAsked", sentence=says)
        if gates := _gates(unit.sets):
            says = f"Its pods wait: scheduling gates hold them ({listed(gates)})."
            return replace(bare, outcome="Gated", sentence=says)
        if not unit.pods:
            return replace(bare, outcome="Nothing", sentence="No pod of it is submitted.")
        tried = self._tried(unit, supposed_pods(unit.sets, infos, self._nodes), unknown)
        names = (*unsure, *tried.doubts) if tried.running else tried.doubts
        readable = self._reader.decision
        read, goes = readable(tried.spec), bool(tried.running)
        found = consequences(tried.after, tried.spec, self._returns, readable) if goes else []
        self._snapshot = tried.after
        return replace(
            bare,
            outcome=UNKNOWN if names else _outcome(tried, unit.pods - tried.pods),
            sentence=doubted(_sentence(tried, tried.pods, unit.pods), names),
            not_modelled=names,
            running=tried.running,
            plan=read,
            evicted=victims_of(read) if goes else (),
            consequences=tuple(found),
        )

    def _tried(self, unit: Unit, pods: Sequence[SupposedPods], unknown: Sequence[str]) -> Tried:
        """What becomes of the pods, with what is not modelled of their admission."""
        name = WorkloadName(unit.api_version, unit.meta.namespace, unit.meta.name, unit.meta.uid)
        gang = _gang_of(unit, sum(each.count for each in pods))
        tried, names = submit(self._snapshot, name, pods, gang, self._reader.decision), {*unknown}
        with_more = tolerating(self._snapshot, pods)
        if with_more is not None and is_changed_by(tried, submit(self._snapshot, name, with_more, gang)):
            names.add(RESOURCE_TOLERATIONS)
        if not names:
            return tried
        spec = msgspec.structs.replace(tried.spec, not_modelled=sorted({*tried.spec.not_modelled, *names}))
        return replace(tried, spec=spec, doubts=tuple(sorted({*tried.doubts, *names})))

    def _returns(self, uid: str) -> bool:
        """Whether somebody creates the pod again when it is evicted. Nobody knows of a gang's pods without an owner."""
        nodes = self._nodes
        return uid not in nodes.snapshot.pod_rows or nodes.controller_of(uid) is not None


def _held(held: Held) -> str:
    """Why an object that is held makes no pods."""
    says = f"{held.words[:1].upper()}{held.words[1:]}"
    return f"{says}, and in no queue: it creates no pods." if held.resumed else f"{says}."


def _remarks(unit: Unit, outcome: str) -> list[str]:
    """What should be known of the answer: its kind's remark, and which pods are not created at once."""
    if outcome not in (*RUNS, "RunsInPart", "Waits", UNKNOWN):
        return []
    late = [each for each in unit.sets if each.after is not None and not each.after.gone and each.count]
    found = [unit.row.remark] if unit.row is not None and unit.row.remark else []
    for words in dict.fromkeys(each.after.words for each in late if each.after is not None):
        pods = sum(each.count for each in late if each.after is not None and each.after.words == words)
        found.append(f"{counted(pods, 'pod')} of them {'is' if pods == 1 else 'are'} created when {words}.")
    return found


def _in_stages(sets: Sequence[MadePods]) -> list[list[MadePods]]:
    """Those that are there at the same time together. Those of each stage have ended when the next one begins."""
    found: dict[int, list[MadePods]] = {}
    for each in sets:
        found.setdefault(each.after.stage if each.after is not None else 0, []).append(each)
    return [found[stage] for stage in sorted(found)]


def _later(sets: Sequence[MadePods], tried: Tried) -> str:
    """What becomes of pods that come when others have ended."""
    words = listed(list(dict.fromkeys(each.after.words for each in sets if each.after is not None)))
    says = f"{counted(tried.pods, 'more pod')} {'is' if tried.pods == 1 else 'are'} created when {words}"
    if tried.running == tried.pods:
        return f"{says}; as things are, {'it gets a node' if tried.pods == 1 else 'they get nodes'} then."
    return f"{says}; as things are, {tried.running} of them get nodes then: {tried.why_not}."


def _gates(sets: Sequence[MadePods]) -> list[str]:
    """Gates that neither reprieve nor who manages the quota removes."""
    gates = {gate.name for each in sets for gate in each.pod.spec.scheduling_gates or ()}
    return sorted(gates - {SCHEDULING_GATE, ADMISSION_GATE})


def _gang_of(unit: Unit, pods: int) -> PodGroup | None:
    """The gang of the object if only this number of pods is created, because of a partial admission."""
    policy = unit.gang.spec.scheduling_policy.gang if unit.gang is not None else None
    if unit.gang is None or policy is None or pods >= min(unit.pods, policy.min_count):
        return unit.gang
    gang = msgspec.structs.replace(policy, min_count=pods)
    scheduling = msgspec.structs.replace(unit.gang.spec.scheduling_policy, gang=gang)
    spec = msgspec.structs.replace(unit.gang.spec, scheduling_policy=scheduling)
    return msgspec.structs.replace(unit.gang, spec=spec)


def _outcome(tried: Tried, without_quota: int) -> str:
    """`without_quota`: how many pods are not created, because of a partial admission."""
    if not tried.running:
        return "Waits"
    if tried.running < tried.pods + without_quota:
        return "RunsInPart"
    return "RunsAfterEvictions" if tried.spec.victims else "Runs"


def _sentence(tried: Tried, pods: int, of: int) -> str:
    """`pods`: that have quota, of all that are submitted."""
    if pods == of:
        return _on_nodes(tried)
    return f"It gets quota for {pods} of its {counted(of, 'pod')} (partial admission, minCount). {_on_nodes(tried)}"


def _on_nodes(tried: Tried) -> str:
    if not tried.running:
        return f"None of {counted(tried.pods, 'pod')} gets a node: {tried.why_not}."
    victims = tried.spec.victims
    gone = sum(len(each.pods) for each in victims)
    after = f" once {counted(len(victims), 'unit')} with {counted(gone, 'pod')} are gone" if victims else ""
    says = f"{tried.running} of {counted(tried.pods, 'pod')} get nodes{after}."
    return f"{says} The others wait: {tried.why_not}." if tried.why_not else says
