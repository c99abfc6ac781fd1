// `previews` in platform.yaml: resources and behavior of previews. The engine and the broker read these settings. Pure.
import { isForkBranch } from './names.ts';

/** A preview's databases, and the events that its branch receives. */
export interface PreviewSettings {
  /** Whether databases start with production's content, or with migrations only. */
  readonly db: 'copy' | 'empty';
  readonly cron: 'on' | 'off';
  readonly queue: 'on' | 'off';
  readonly timer: 'on' | 'off';
}

/** Defaults. */
export const defaultPreviewSettings: PreviewSettings = { db: 'copy', cron: 'off', queue: 'on', timer: 'on' };

/** Settings that differ from the defaults, for manifests; null if there are none. */
export function ownPreviewSettings(settings: PreviewSettings): Partial<PreviewSettings> | null {
  const own = Object.entries(settings).filter(
    ([key, value]) => defaultPreviewSettings[key as keyof PreviewSettings] !== value,
  );
  return own.length === 0 ? null : Object.fromEntries(own);
}

/** The settings of a manifest. */
export function previewSettingsOf({ previews }: { readonly previews?: Partial<PreviewSettings> }): PreviewSettings {
  return { ...defaultPreviewSettings, ...previews };
}

/**
 * Whether a preview's databases start with production's content. This is never true for previews of forks, regardless
 * of their files.
 */
export function copiesDatabases(manifest: { readonly previews?: Partial<PreviewSettings> }, branch: string): boolean {
  return previewSettingsOf(manifest).db === 'copy' && !isForkBranch(branch);
}
