// Content types of static files by extension, ready to send. Called by assets.ts. Pure.

const text = [
  'text/html:html,htm',
  'text/css:css',
  'text/javascript:js,mjs,cjs',
  'text/plain:txt,text,log',
  'text/markdown:md,markdown',
].concat(
  [
    'text/csv:csv',
    'text/calendar:ics',
    'text/vcard:vcf',
    'text/vtt:vtt',
    'text/xml:xml',
    'text/x-component:rsc',
    'text/yaml:yaml,yml',
  ],
  [
    'application/json:json,map',
    'application/ld+json:jsonld',
    'application/manifest+json:webmanifest',
    'image/svg+xml:svg',
  ],
  [
    'application/rss+xml:rss',
    'application/atom+xml:atom',
    'application/xhtml+xml:xhtml',
    'application/xslt+xml:xsl,xslt',
  ],
);
const binary = [
  'image/png:png,apng',
  'image/jpeg:jpg,jpeg,jfif',
  'image/gif:gif',
  'image/webp:webp',
  'image/avif:avif',
  'image/bmp:bmp',
].concat(
  ['image/x-icon:ico,cur', 'image/tiff:tif,tiff', 'image/heic:heic', 'image/jxl:jxl'],
  ['font/woff2:woff2', 'font/woff:woff', 'font/ttf:ttf', 'font/otf:otf', 'application/vnd.ms-fontobject:eot'],
  [
    'video/mp4:mp4,m4v',
    'video/webm:webm',
    'video/ogg:ogv',
    'video/quicktime:mov',
    'application/vnd.apple.mpegurl:m3u8',
    'video/mp2t:ts',
  ],
  ['audio/mpeg:mp3', 'audio/mp4:m4a', 'audio/ogg:ogg,oga,opus', 'audio/wav:wav', 'audio/flac:flac', 'audio/aac:aac'],
  [
    'application/pdf:pdf',
    'application/zip:zip',
    'application/gzip:gz',
    'application/x-tar:tar',
    'application/wasm:wasm',
    'application/rtf:rtf',
  ],
  [
    'application/epub+zip:epub',
    'application/java-archive:jar',
    'application/x-7z-compressed:7z',
    'model/gltf-binary:glb',
    'model/gltf+json:gltf',
  ],
);

const types = new Map<string, string>();
for (const [rows, suffix] of [[text, '; charset=utf-8'] as const, [binary, ''] as const]) {
  for (const row of rows) {
    const [type, extensions = ''] = row.split(':');
    for (const extension of extensions.split(',')) types.set(extension, `${type}${suffix}`);
  }
}

/**
 * The content type of a file, by the extension of its name in any case.
 *
 * @example contentType('img/Logo.SVG') // 'image/svg+xml; charset=utf-8'
 * @example contentType('data.unknown') // 'application/octet-stream'
 */
export function contentType(path: string): string {
  const extension = /\.([^./]+)$/.exec(path)?.[1]?.toLowerCase();
  return (extension !== undefined && types.get(extension)) || 'application/octet-stream';
}
