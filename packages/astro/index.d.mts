/** An integration for Astro 7. */
export interface PlatformIntegration {
  readonly name: string;
  readonly hooks: Readonly<Record<string, (given: any) => void>>;
}

/**
 * The adapter for `adapter` of `astro.config`. Options of other adapters are ignored.
 *
 * @example defineConfig({ output: 'server', adapter: platform() });
 */
export default function platform(...options: readonly unknown[]): PlatformIntegration;
