/** An adapter for SvelteKit 2 and 3. */
export interface PlatformAdapter {
  readonly name: string;
  adapt(builder: any): void;
  emulate(): { platform(): { readonly env: object; readonly ctx: { waitUntil(promise: Promise<unknown>): void } } };
  readonly supports: { read(): boolean; instrumentation(): boolean };
}

/**
 * The adapter for `adapter` of `svelte.config.js` or of `sveltekit()` in `vite.config`. Options of other adapters are
 * ignored.
 *
 * @example sveltekit({ adapter: platform() });
 */
export default function platform(...options: readonly unknown[]): PlatformAdapter;
