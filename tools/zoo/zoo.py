"""The model zoo: REG {name: Entry}, build(name). The models are in vision, language and others."""
from registry import REG, build  # noqa: F401
import vision, language, others  # noqa: F401,E401  each registers its models
