/** An adapter, as SvelteKit 2 and 3 take it. */
export interface PlatformAdapter {
  readonly name: string;
  adapt(builder: any): void;
  emulate(): { platform(): { readonly env: object; readonly ctx: { waitUntil(promise: Promise<unknown>): void } } };
  readonly supports: { read(): boolean; instrumentation(): boolean };
}

/**
 * The adapter for `adapter` of `svelte.config.js` or of `sveltekit()` in `vite.config`. Options are not read: those of
 * another adapter do no harm.
 *
 * @example
 * sveltekit({ adapter: platform() });
 */
export default function platform(...options: readonly unknown[]): PlatformAdapter;
