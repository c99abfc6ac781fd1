// Limits the bindings that a call can use: those that the deployment declared, inside the namespace of its project.
// bindings.ts creates one per deployment and kind. The host half of a binding resolves names from a worker to resources
// only through it.
import { PlatformError } from '#core/errors.ts';

/** A deployment, as the host half of a binding sees it. */
export interface BindingOwner {
  /**
   * Owner of the resources: the project, or the workspace in `platform dev`. Resources of other namespaces are
   * invisible.
   */
  readonly namespace: string;
  readonly project: string;
  readonly branch: string;
  readonly deployment: string;
  /** Slug of the branch whose resources the deployment uses (core/preview.ts); null means those of production. */
  readonly preview: string | null;
}

/** The bindings of one kind. */
export interface BindingScope extends BindingOwner {
  /** Resource name of a declared binding. @throws {PlatformError} `binding_not_found`. */
  resource(binding: unknown): string;
}

/** @param declared resource names by binding name. */
export function createScope(
  owner: BindingOwner,
  kind: string,
  declared: Readonly<Record<string, string>>,
): BindingScope {
  const resources = new Map(Object.entries(declared));
  return {
    ...owner,
    resource(binding) {
      const resource = typeof binding === 'string' ? resources.get(binding) : undefined;
      if (resource === undefined)
        throw new PlatformError('binding_not_found', { kind, binding: String(binding).slice(0, 100) });
      return resource;
    },
  };
}

/** One database. */
export interface DatabasePlace {
  readonly namespace: string;
  readonly resource: string;
}
