"""What requests and answers look like, as pydantic models; the OpenAPI file is made from them."""
