// The guest half of service bindings (docs/services.md): a stub of an entrypoint of another project's worker. lazy.ts
// loads this module when it is first used.
import type { LazyDeps } from '../lazy.ts';

export default function createServices({ useModule }: LazyDeps): { create(name: string): object } {
  return {
    create: (name) =>
      useModule('rpc').createService({ connect: 'service.connect', fetch: 'service.fetch', target: { binding: name } }),
  };
}
