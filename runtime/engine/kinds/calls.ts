// The host calls of a deployment's bindings, created once per deployment from the entries of table.ts for each declared
// kind.
import { bindings, descriptorOf, type Kind, type MeasuredKind } from '#core/bindings/kinds.ts';
import { PlatformError } from '#core/errors.ts';
import { ofPreview } from '#core/preview.ts';
import type { BindingStores, BindingTools } from '../bindings/bindings.ts';
import { createScope, type BindingOwner, type BindingScope } from '../bindings/scope.ts';
import { callsOf } from '../bridge/call-names.ts';
import type { CallMeter, HostFunction } from '../bridge/host-calls.ts';
import type { DeploymentUsage } from '../metrics/usage.ts';
import { engineKinds, type Calls, type Declared } from './table.ts';

/**
 * @param manifest the manifest of the deployment. @param usage counts the calls of measured kinds; if absent, calls are
 * not counted.
 */
export function createBindingCalls(
  owner: BindingOwner,
  manifest: Declared,
  stores: BindingStores,
  tools: BindingTools,
  usage: Pick<DeploymentUsage, 'calls'> | null = null,
): Calls {
  const { bindings: declared } = manifest;
  const scopeOf = (kind: Kind): BindingScope => ofBranch(createScope(owner, kind, declared[kind] ?? {}), kind);
  const made = (Object.keys(declared) as Kind[]).filter(descriptorOf).map((kind) => {
    const scope = scopeOf(kind);
    const calls = engineKinds[kind].calls({ scope, stores, tools, manifest, scopeOf });
    if (calls === null) return unavailable(kind);
    return usage !== null && isMeasured(kind) ? measured(calls, metersOf(kind, scope, declared[kind]!, usage)) : calls;
  });
  return Object.assign({}, ...made) as Calls;
}

function isMeasured(kind: Kind): kind is MeasuredKind {
  return bindings[kind].isMeasured;
}

/** The counter for calls of each binding's resource, by binding name. */
function metersOf(
  kind: MeasuredKind,
  scope: BindingScope,
  declared: Readonly<Record<string, string>>,
  usage: Pick<DeploymentUsage, 'calls'>,
): ReadonlyMap<unknown, CallMeter> {
  const { isFailure } = engineKinds[kind];
  return new Map(
    Object.keys(declared).map((binding) => {
      const counted = usage.calls(kind, scope.resource(binding));
      return [binding, { ended: (ms, reply) => counted.ended(ms, reply === null || isFailure?.(reply) === true) }];
    }),
  );
}

/** The bridge (bridge/guest-calls.ts) measures the calls, because wrapping their promises would cost more. */
function measured(calls: Calls, meters: ReadonlyMap<unknown, CallMeter>): Calls {
  const withMeter =
    (run: HostFunction): HostFunction =>
    (call) => {
      call.meter = meters.get((call.args as { readonly binding?: unknown } | null)?.binding) ?? null;
      return run(call);
    };
  return Object.fromEntries(Object.entries(calls).map(([name, run]) => [name, withMeter(run)]));
}

/** The preview's own resources, according to the kind's descriptor. */
function ofBranch(scope: BindingScope, kind: Kind): BindingScope {
  const { preview } = scope;
  // These bindings do not refer to resources: for a preview, they call another deployment, or have other variables.
  if (preview === null || kind === 'service' || kind === 'hyperdrive') return scope;
  return bindings[kind].ofPreview === 'namespace'
    ? { ...scope, namespace: ofPreview(scope.namespace, preview) }
    : { ...scope, resource: (binding) => ofPreview(scope.resource(binding), preview) };
}

function unavailable(kind: Kind): Calls {
  const refuse: HostFunction = () => {
    throw new PlatformError('binding_unavailable', {
      kind,
      reason: 'this handler has no store for them',
    });
  };
  return Object.fromEntries(callsOf(bindings[kind]).map((name) => [name, refuse]));
}
