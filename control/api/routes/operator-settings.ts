// Settings of the installation that its operator changes while it runs.
import Type from '#core/typebox/typebox.mjs';
import { platform } from '#packages/worker/index.ts';
import { ApiError } from '../../http/errors.ts';
import { nullable, Timestamp } from '../../http/schemas.ts';
import { publishMailChannel } from '../../outbound/mail-queue.ts';
import type { Dependencies } from '../../process/dependencies.ts';
import { settingNames, type Setting, type SettingChanges, type SettingName } from '../../process/live-settings.ts';
import type { RequestState } from '../request/middleware.ts';
import { needs } from '../request/needs.ts';

const tags = ['operator'];
const CHARS_MAX = 2048;

const Settings = Type.Object({
  items: Type.Array(
    Type.Object({
      name: Type.Enum([...settingNames]),
      value: nullable(Type.String({ description: 'Null if the setting is not set or is a secret' })),
      isSecret: Type.Boolean(),
      source: Type.Enum(['environment', 'platform', 'default'], {
        description: '`environment`: a variable of the platform, which overrides the stored value',
      }),
      changedBy: nullable(Type.String({ description: 'Login' })),
      changedAt: nullable(Timestamp),
    }),
  ),
});
const Value = Type.Optional(nullable(Type.String({ minLength: 1, maxLength: CHARS_MAX })));

export const operatorSettings = platform<Dependencies, RequestState>()
  .get(
    '/operator/settings',
    { ...needs('operator'), tags, summary: 'List the settings that take effect without a restart', response: Settings },
    async (ctx) => {
      ctx.state.access.operator();
      return { items: (await ctx.env.settings.list()).map(toSetting) };
    },
  )
  .patch(
    '/operator/settings',
    {
      ...needs('operator'),
      tags,
      summary: 'Change settings',
      description: 'Null removes a stored value. Secrets are stored encrypted and not shown again.',
      body: Type.Object(
        Object.fromEntries(settingNames.map((name) => [name, Value])) as Record<SettingName, typeof Value>,
        {
          additionalProperties: false,
        },
      ),
      response: Settings,
    },
    async (ctx) => {
      const { accountId } = ctx.state.access.operator();
      const { sql, settings } = ctx.env;
      const changes = ctx.body as SettingChanges;
      const names = Object.keys(changes) as SettingName[];
      const fixed = names.find((name) => settings.isFixed(name));
      if (fixed !== undefined)
        throw new ApiError('conflict', {
          reason: `${fixed} is set in the environment of the platform, which overrides it: change it there`,
        });
      try {
        settings.check(changes);
      } catch (error) {
        throw new ApiError('bad_request', { reason: `body: ${(error as Error).message.replaceAll('\n', '; ')}` });
      }
      await sql.begin(async (tx) => {
        await settings.write(tx, changes, accountId);
        // Values may be secrets.
        await ctx.state.audit(tx, {
          organizationId: null,
          action: 'operator.settings',
          subjectKind: 'installation',
          subjectId: null,
          details: {
            set: names.filter((name) => changes[name] !== null),
            removed: names.filter((name) => changes[name] === null),
          },
        });
      });
      await settings.reload();
      await publishMailChannel(ctx.env);
      return { items: (await settings.list()).map(toSetting) };
    },
  );

function toSetting(setting: Setting) {
  return { ...setting, changedAt: setting.changedAt?.toISOString() ?? null };
}
