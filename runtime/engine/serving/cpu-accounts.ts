// The CPU of the invocations in one isolate: what each has used of its budget, in its own code and by work of the host.
// Made by serving.ts. A budget that its own code breaks is found in the isolate (isolates/native/guest/cpu-watch.cc);
// one that the host's work uses up, here.
import { PlatformError } from '#core/errors.ts';
import type { Link } from '../bridge/link.ts';
import type { AnyInvocation, CpuMeter } from '../invocation/invocation.ts';
import { failed } from '../invocation/outcome.ts';
import type { ServedDeployment, ServingParts } from './config.ts';
import type { RunningInvocations } from './running-invocations.ts';

/** How often an open WebSocket has a new budget without a message. */
const RENEWAL_MS = 10_000;
/** CPU of the host that is not reported to its isolate yet. */
const UNREPORTED_MS_MAX = 1;

export class CpuAccounts implements CpuMeter {
  #deployment: ServedDeployment;
  #parts: Pick<ServingParts, 'counters' | 'limits'>;
  #running: RunningInvocations;
  #link: Link;

  constructor(
    deployment: ServedDeployment,
    parts: Pick<ServingParts, 'counters' | 'limits'>,
    running: RunningInvocations,
    link: Link,
  ) {
    this.#deployment = deployment;
    this.#parts = parts;
    this.#running = running;
    this.#link = link;
  }

  /** Of an invocation; 0: none. */
  limitMs({ kind }: AnyInvocation): number {
    return this.#parts.limits.cpu[kind][this.#deployment.config.plan];
  }

  /** Its share of an entry, unless it has a charge of its own for it. */
  chargeShare(invocation: AnyInvocation, shareMs: number): void {
    if (invocation.charged) return;
    invocation.cpuMs += shareMs;
    this.#parts.counters.charge(invocation.kind, shareMs);
  }

  /**
   * CPU of an entry whose shares are unknown, as its isolate was given up in it or V8 forgot whose code ran:
   * all that were in it have the same; where there were none it is their deployment's alone.
   */
  chargeAlike(invocations: readonly AnyInvocation[], cpuMs: number): void {
    if (!(cpuMs > 0)) return;
    if (invocations.length === 0) this.#deployment.burnt(null, cpuMs);
    const shareMs = cpuMs / invocations.length;
    for (const invocation of invocations) {
      invocation.cpuMs += shareMs;
      this.#parts.counters.charge(invocation.kind, shareMs);
    }
  }

  /**
   * @param cpuMs all it has used so far in this isolate.
   * @throws {Error} where that is less than it was: a guest takes nothing back.
   */
  charge(invocation: AnyInvocation, cpuMs: number): void {
    this.#add(invocation, cpuMs);
    if (invocation.hostCpuMs > 0 && this.leftOf(invocation) <= 0) this.#exceeded(invocation, 0);
  }

  #add(invocation: AnyInvocation, cpuMs: number): void {
    const usedMs = invocation.lostCpuMs + cpuMs;
    if (usedMs < invocation.cpuMs) throw new Error(`guest reported ${usedMs} ms of CPU after ${invocation.cpuMs} ms`);
    this.#parts.counters.charge(invocation.kind, usedMs - invocation.cpuMs);
    invocation.cpuMs = usedMs;
    invocation.charged = true;
  }

  /**
   * The last charge of one whose own code broke its budget; null: code that is no invocation's.
   *
   * @param cpuMs of the budget it had: of a socket that of its last message, since its charge has come before.
   * @returns the budget and what was used of it.
   */
  chargeBreach(invocation: AnyInvocation | null, cpuMs: number): { readonly limitMs: number; readonly usedMs: number } {
    if (invocation === null)
      return { limitMs: this.#parts.limits.cpu.http[this.#deployment.config.plan], usedMs: Math.round(cpuMs) };
    this.#add(invocation, Math.max(cpuMs, invocation.cpuMs - invocation.lostCpuMs));
    return {
      limitMs: this.limitMs(invocation),
      usedMs: Math.round(cpuMs + invocation.hostCpuMs - invocation.hostCpuBefore),
    };
  }

  leftOf(invocation: AnyInvocation): number {
    const limitMs = this.limitMs(invocation);
    return limitMs === 0 ? Number.POSITIVE_INFINITY : limitMs - usedOf(invocation);
  }

  reserve(invocation: AnyInvocation, cpuMs: number): void {
    if (cpuMs > this.leftOf(invocation)) {
      this.#exceeded(invocation, cpuMs);
      throw new PlatformError('cpu_limit_exceeded');
    }
    invocation.reservedCpuMs += cpuMs;
  }

  settle(invocation: AnyInvocation, reservedMs: number, usedMs: number): void {
    invocation.reservedCpuMs -= reservedMs;
    invocation.hostCpuMs += usedMs;
    this.#parts.counters.chargeHost(invocation.kind, usedMs);
    if (invocation.phase === 'over') return;
    if (this.leftOf(invocation) <= 0) this.#exceeded(invocation, 0);
    else if (invocation.hostCpuMs - invocation.hostCpuReported >= UNREPORTED_MS_MAX) {
      invocation.hostCpuReported = invocation.hostCpuMs;
      this.#link.reportHostCpu(invocation.id, invocation.hostCpuMs - invocation.hostCpuBefore);
    }
  }

  /** A message of a WebSocket has a budget of its own: as in the guest. */
  renew(invocation: AnyInvocation): void {
    renewBudget(invocation, performance.now());
  }

  /** What an open WebSocket does without a message has a budget now and then: as in the guest. */
  renewNowAndThen(invocation: AnyInvocation): void {
    const now = performance.now();
    if (now - invocation.budgetFrom >= RENEWAL_MS) renewBudget(invocation, now);
  }

  /**
   * The host's work for an invocation is more than its budget: it is over. Its isolate is not to blame, and serves on.
   *
   * @param moreMs what it asked for in addition.
   */
  #exceeded(invocation: AnyInvocation, moreMs: number): void {
    const limitMs = this.limitMs(invocation);
    const usedMs = Math.round(usedOf(invocation) + moreMs);
    const { plan } = this.#deployment.config;
    this.#deployment.log(
      'error',
      `CPU limit exceeded: used ${usedMs} ms of ${limitMs} ms (plan ${plan}), most of it by work of the host`,
      invocation,
    );
    this.#running.endNow(invocation, failed('cpu_limit_exceeded', { limitMs, usedMs }), 'CPU limit exceeded');
  }
}

/** Of the budget it has now. */
function usedOf({ totalCpuMs, cpuBefore, hostCpuBefore }: AnyInvocation): number {
  return totalCpuMs - cpuBefore - hostCpuBefore;
}

function renewBudget(invocation: AnyInvocation, now: number): void {
  invocation.budgetFrom = now;
  invocation.cpuBefore = invocation.cpuMs;
  invocation.hostCpuBefore = invocation.hostCpuMs;
}
