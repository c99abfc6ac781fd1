// The host calls of a deployment's bindings, made once per deployment: for each declared kind its half of table.ts.
import { bindings, descriptorOf, type Kind } from '#core/bindings/kinds.ts';
import { PlatformError } from '#core/errors.ts';
import { ofPreview } from '#core/preview.ts';
import type { BindingStores, BindingTools } from '../bindings/bindings.ts';
import { createScope, type BindingOwner, type BindingScope } from '../bindings/scope.ts';
import { callsOf } from '../bridge/call-names.ts';
import type { HostFunction } from '../bridge/host-calls.ts';
import { engineKinds, type Calls, type Declared } from './table.ts';

/** @param manifest of the deployment. */
export function createBindingCalls(
  owner: BindingOwner,
  manifest: Declared,
  stores: BindingStores,
  tools: BindingTools,
): Calls {
  const { bindings: declared } = manifest;
  const scopeOf = (kind: Kind): BindingScope => ofBranch(createScope(owner, kind, declared[kind] ?? {}), kind);
  const made = (Object.keys(declared) as Kind[]).filter(descriptorOf).map((kind) => {
    const calls = engineKinds[kind].calls({ scope: scopeOf(kind), stores, tools, manifest, scopeOf });
    return calls ?? unavailable(kind);
  });
  return Object.assign({}, ...made) as Calls;
}

/** What a preview has of its own, as the kind's descriptor says. */
function ofBranch(scope: BindingScope, kind: Kind): BindingScope {
  const { preview } = scope;
  if (preview === null) return scope;
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
