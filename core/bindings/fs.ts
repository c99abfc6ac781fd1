// The kind `fs`: file storage.
import type { BindingDescriptor } from './descriptor.ts';
import { bindingMap } from './schemas.ts';

export const fs = {
  schema: bindingMap('File storage.'),
  otherNames: ['r2', 'bucket', 'buckets', 'storage', 'files'],
  type: 'FileStorageBinding',
  label: 'File storage',
  module: 'files',
  // As for fetch, a body is a part, or a stream whose id is under `stream`.
  calls: ['put', 'head', 'get', 'delete', 'list', 'createUpload', 'putPart', 'completeUpload', 'abortUpload', 'sign'],
  methods: ['put', 'get', 'head', 'delete', 'list', 'createMultipartUpload', 'createSignedUrl'],
  isPlain: true,
  ofPreview: 'resource',
  isMeasured: true,
  reads: ['fs.list', 'fs.get'],
  wrangler: {
    key: 'r2_buckets',
    resource: 'bucket_name',
    notNeeded: ['preview_bucket_name'],
    unsupported: {
      jurisdiction: 'no equivalent: your platform stores the files',
      remote: 'no equivalent: `platform dev` has its own data',
    },
  },
  page: { path: 'files', title: 'Files', one: 'file storage', area: 'storage' },
  storage: null,
} as const satisfies BindingDescriptor;
