// What the builder reads of a project's configuration (core/config/project-config.ts). Types, and the one rule
// that both bundlers share.
import type { ProjectConfig } from '#core/config/project-config.ts';

/** The fields of platform.yaml that decide where a project starts. */
export type EntryConfig = Pick<ProjectConfig, 'kind' | 'main' | 'build' | 'out'>;

/** The fields of platform.yaml that an artifact depends on. */
export type BuildConfig = EntryConfig &
  Pick<
    ProjectConfig,
    | 'assets'
    | 'compatibilityDate'
    | 'compatibilityFlags'
    | 'bindings'
    | 'queues'
    | 'auth'
    | 'cron'
    | 'previews'
    | 'ai'
    | 'skewProtection'
  >;

/** Whether Node's modules are served: on, unless a flag switches it off. */
export function hasNodeCompat(config: Pick<ProjectConfig, 'compatibilityFlags'>): boolean {
  return !config.compatibilityFlags.includes('no_nodejs_compat');
}
