// Whose bindings a call may touch: what the deployment declared, inside the namespace of its project. Made per
// deployment and kind by bindings.ts; a binding's host half turns the name a worker says into a resource with it, and
// with nothing else.
import { PlatformError } from '#core/errors.ts';

/** A deployment as the host half of a binding knows it. */
export interface BindingOwner {
  /**
   * Whose resources these are: the project, or the workspace in `platform dev`. Resources of other namespaces do not
   * exist.
   */
  readonly namespace: string;
  readonly project: string;
  readonly branch: string;
  readonly deployment: string;
  /** Slug of the branch whose own resources it has (core/preview.ts); null: production's. */
  readonly preview: string | null;
}

/** The bindings of one kind. */
export interface BindingScope extends BindingOwner {
  /** Resource name of a declared binding. @throws {PlatformError} `binding_not_found`. */
  resource(binding: unknown): string;
}

/** @param declared binding name -> resource name. */
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
