/** An integration, as Astro 7 takes it. */
export interface PlatformIntegration {
  readonly name: string;
  readonly hooks: Readonly<Record<string, (given: any) => void>>;
}

/**
 * The adapter for `adapter` of `astro.config`. Options are not read: those of another adapter do no harm.
 *
 * @example
 * defineConfig({ output: 'server', adapter: platform() });
 */
export default function platform(...options: readonly unknown[]): PlatformIntegration;
