"""GET …/collections/ID/digest: the count and the HMAC of a collection's records (CHANGE.md)."""

import hashlib
import hmac
import json

from kinto.core import Service
from kinto.core.utils import build_request
from pyramid.security import NO_PERMISSION_REQUIRED

digest = Service(
    name="collection-digest",
    path="/buckets/{bucket_id}/collections/{collection_id}/digest",
    description="Count and HMAC of a collection's records",
)


@digest.get(permission=NO_PERMISSION_REQUIRED)
def get_digest(request):
    place = "/buckets/{bucket_id}/collections/{collection_id}/records".format(**request.matchdict)
    records, path = [], f"{place}?_sort=id&_limit=500"
    while path:
        asked = build_request(request, {"method": "GET", "path": path})
        asked.headers.update({k: v for k, v in request.headers.items() if k == "Authorization"})
        answer = request.invoke_subrequest(asked, use_tweens=False)
        records += json.loads(answer.body)["data"]
        following = answer.headers.get("Next-Page")
        path = following.partition("/v1")[2] if following else ""
    key = request.registry.settings["collection_digest.key"].encode()
    total = hmac.new(key, digestmod=hashlib.sha256)
    for record in sorted(records, key=lambda one: one["id"]):
        kept = {k: v for k, v in record.items() if k not in ("last_modified", "schema")}
        text = json.dumps(kept, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        total.update(text.encode() + b"\n")
    return {"count": len(records), "digest": total.hexdigest()}


def includeme(config):
    config.add_cornice_service(digest)
