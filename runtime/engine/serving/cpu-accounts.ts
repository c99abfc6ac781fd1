// Accounts for the CPU of the invocations in one isolate: how much of each budget their own code and host work have
// used. Made by serving.ts. The isolate detects when code exceeds a budget (isolates/native/guest/cpu-watch.cc); this
// file detects when host work exceeds it.
import { PlatformError } from '#core/errors.ts';
import { budgetOf } from '#core/plans.ts';
import type { Link } from '../bridge/link.ts';
import type { AnyInvocation, CpuMeter } from '../invocation/invocation.ts';
import { failed } from '../invocation/outcome.ts';
import type { ServingDeps } from './config.ts';
import type { RunningInvocations } from './running-invocations.ts';
import type { ServedDeployment } from './served-deployment.ts';

/** How often an open WebSocket gets a new budget without a message. */
const RENEWAL_MS = 10_000;
/** Host CPU below this amount is not reported to the isolate yet. */
const UNREPORTED_MS_MAX = 1;

export class CpuAccounts implements CpuMeter {
  #deployment: ServedDeployment;
  #deps: Pick<ServingDeps, 'counters' | 'usage' | 'limits'>;
  #running: RunningInvocations;
  #link: Link;

  constructor(
    deployment: ServedDeployment,
    deps: Pick<ServingDeps, 'counters' | 'usage' | 'limits'>,
    running: RunningInvocations,
    link: Link,
  ) {
    this.#deployment = deployment;
    this.#deps = deps;
    this.#running = running;
    this.#link = link;
  }

  /** CPU limit of an invocation; 0 means no limit. */
  limitMs({ kind }: AnyInvocation): number {
    return this.#deps.limits.cpu[budgetOf(kind)][this.#deployment.config.plan];
  }

  /** Charges an invocation for its share of an entry, unless the entry charged it separately. */
  chargeShare(invocation: AnyInvocation, shareMs: number): void {
    if (invocation.charged) return;
    invocation.cpuMs += shareMs;
    this.#deps.counters.charge(invocation.kind, shareMs);
  }

  /**
   * Charges an entry whose shares are unknown, because its isolate was abandoned during the entry or V8 no longer knows
   * whose code ran. All invocations in the isolate pay an equal share. If there are none, only the deployment is
   * charged.
   */
  chargeAlike(invocations: readonly AnyInvocation[], cpuMs: number): void {
    if (!(cpuMs > 0)) return;
    if (invocations.length === 0) this.#deps.usage.burnt('http', '', cpuMs);
    const shareMs = cpuMs / invocations.length;
    for (const invocation of invocations) {
      invocation.cpuMs += shareMs;
      this.#deps.counters.charge(invocation.kind, shareMs);
    }
  }

  /**
   * @param cpuMs CPU used so far in this isolate, in total. @throws {Error} if the CPU is less than before, because
   * usage cannot decrease.
   */
  charge(invocation: AnyInvocation, cpuMs: number): void {
    this.#add(invocation, cpuMs);
    if (invocation.hostCpuMs > 0 && this.leftOf(invocation) <= 0) this.#exceeded(invocation, 0);
  }

  #add(invocation: AnyInvocation, cpuMs: number): void {
    const usedMs = invocation.lostCpuMs + cpuMs;
    if (usedMs < invocation.cpuMs) throw new Error(`guest reported ${usedMs} ms of CPU after ${invocation.cpuMs} ms`);
    this.#deps.counters.charge(invocation.kind, usedMs - invocation.cpuMs);
    invocation.cpuMs = usedMs;
    invocation.charged = true;
  }

  /**
   * Makes the last charge of an invocation whose own code exceeded its budget; null means code that belongs to no
   * invocation.
   *
   * @param cpuMs how much of the current budget was used. For a socket, this is the budget of its last message; earlier
   * usage is already charged. @returns the budget and how much CPU of this budget was used.
   */
  chargeBreach(invocation: AnyInvocation | null, cpuMs: number): { readonly limitMs: number; readonly usedMs: number } {
    if (invocation === null)
      return { limitMs: this.#deps.limits.cpu.http[this.#deployment.config.plan], usedMs: Math.round(cpuMs) };
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
    this.#deps.counters.chargeHost(invocation.kind, usedMs);
    if (invocation.phase === 'over') return;
    if (this.leftOf(invocation) <= 0) this.#exceeded(invocation, 0);
    else if (invocation.hostCpuMs - invocation.hostCpuReported >= UNREPORTED_MS_MAX) {
      invocation.hostCpuReported = invocation.hostCpuMs;
      this.#link.reportHostCpu(invocation.id, invocation.hostCpuMs - invocation.hostCpuBefore);
    }
  }

  /** Starts a new budget for a message of a WebSocket, as the guest does. */
  renew(invocation: AnyInvocation): void {
    renewBudget(invocation, performance.now());
  }

  /** Renews the budget of an open WebSocket from time to time without a message, as the guest does. */
  renewNowAndThen(invocation: AnyInvocation): void {
    const now = performance.now();
    if (now - invocation.budgetFrom >= RENEWAL_MS) renewBudget(invocation, now);
  }

  /**
   * Ends an invocation whose host work exceeded its budget. The isolate is not the cause, and continues to serve.
   *
   * @param moreMs the additional CPU that the invocation requested.
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

/** How much CPU of the current budget was used. */
function usedOf({ totalCpuMs, cpuBefore, hostCpuBefore }: AnyInvocation): number {
  return totalCpuMs - cpuBefore - hostCpuBefore;
}

function renewBudget(invocation: AnyInvocation, now: number): void {
  invocation.budgetFrom = now;
  invocation.cpuBefore = invocation.cpuMs;
  invocation.hostCpuBefore = invocation.hostCpuMs;
}
