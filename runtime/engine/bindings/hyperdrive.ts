// The host half of pools (`hyperdrive` in platform.yaml): a connection of a worker to a pool of its project. The
// account stays on the host; the worker only names a binding. Everything in `args` comes from a worker.
import { PlatformError } from '#core/errors.ts';
import type { LookupFunction } from 'node:net';
import type { HostCall, HostFunction } from '../bridge/host-calls.ts';
import { toRecord, toWhole } from './arguments.ts';
import type { OpenFetches } from './open-fetches.ts';
import type { Pools } from './pools/pools.ts';
import { parseServerAddress, type ServerAddress } from './pools/server-address.ts';
import { PoolSession } from './pools/session.ts';
import type { BindingScope } from './scope.ts';
import { openConnection } from './tcp.ts';

/** The pools of an engine, for one deployment. */
export interface PoolAccess {
  readonly pools: Pools;
  readonly places: OpenFetches;
  readonly lookupOf: (isolate: object) => LookupFunction;
  /** Variables of the deployment, including those that its worker does not get. */
  readonly vars: Readonly<Record<string, string>>;
}

/** The handlers. */
export function createPoolCalls(
  scope: BindingScope,
  { pools, places, lookupOf, vars }: PoolAccess,
): Readonly<Record<string, HostFunction>> {
  const addresses = new Map<string, ServerAddress>();

  function addressOf(binding: unknown): ServerAddress {
    const variable = scope.resource(binding);
    const known = addresses.get(variable);
    if (known !== undefined) return known;
    const text = Object.hasOwn(vars, variable) ? vars[variable]! : '';
    const address = text === '' ? { problem: 'it is not set' } : parseServerAddress(text);
    if ('problem' in address)
      throw new PlatformError('pool_unavailable', { binding: String(binding), variable, reason: address.problem });
    addresses.set(variable, address);
    return address;
  }

  return {
    'hyperdrive.connect': (call: HostCall) => {
      const { binding, stream } = toRecord(call.args);
      // Streams from the guest that are not responses have negative numbers.
      const out = toWhole(stream, 'The stream', { least: Number.MIN_SAFE_INTEGER, most: -1 });
      const address = addressOf(binding);
      call.owner.countSubrequest();
      const { owner } = call;
      const opener = {
        lookup: lookupOf(call.isolate),
        charge: (ms: number) => owner.settleCpu(0, ms),
      };
      const { namespace, preview } = scope;
      const open = (): PoolSession => new PoolSession({ pools, namespace, preview, address, opener });
      const target = `the pool ${String(binding)}`;
      return openConnection(places, call, { out, name: '', target, open, tls: null, mayStartTls: false });
    },
  };
}
